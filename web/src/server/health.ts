// GET /healthcheck: it answers with the status 503 where a part is unhealthy, and tells which one.
import { Problem } from "../rest/problem";
import { ask } from "../rest/request";

export interface Health {
  isHealthy: boolean;
  details: Record<string, { isHealthy: boolean; details?: unknown }>;
}

export async function health(signal: AbortSignal): Promise<Health> {
  try {
    return await ask<Health>("healthcheck", { signal });
  } catch (error) {
    if (error instanceof Problem && isHealth(error.answer)) return error.answer;
    throw error;
  }
}

function isHealth(answer: unknown): answer is Health {
  return typeof (answer as Health | null)?.isHealthy === "boolean";
}

declare module "virtual:words" {
  export const keywords: string[];
  export const functions: string[];
}

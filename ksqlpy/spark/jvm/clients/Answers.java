package ksqlpy.clients;

import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Answers of other systems over HTTP, with a bound on their size and on the time that they take. */
final class Answers {
  private static final long LARGEST = 8L << 20;
  private static final long SECONDS = 20;

  private Answers() {}

  /** Throws IOException where there is none, or one that is too large. */
  static HttpResponse<String> of(HttpClient client, HttpRequest request) throws IOException, InterruptedException {
    CompletableFuture<HttpResponse<String>> answer = client.sendAsync(request, head -> new Body());
    try {
      return answer.get(SECONDS, TimeUnit.SECONDS);
    } catch (TimeoutException e) {
      throw new IOException("the answer takes more than " + SECONDS + " s");
    } catch (ExecutionException e) {
      throw e.getCause() instanceof IOException said ? said : new IOException(e.getCause());
    } finally {
      answer.cancel(true);
    }
  }

  private static final class Body implements HttpResponse.BodySubscriber<String> {
    private final HttpResponse.BodySubscriber<String> to =
        HttpResponse.BodySubscribers.ofString(StandardCharsets.UTF_8);
    private long size = 0;
    private Flow.Subscription from;

    @Override
    public CompletionStage<String> getBody() {
      return to.getBody();
    }

    @Override
    public void onSubscribe(Flow.Subscription subscription) {
      from = subscription;
      to.onSubscribe(subscription);
    }

    @Override
    public void onNext(List<ByteBuffer> parts) {
      for (ByteBuffer part : parts) {
        size += part.remaining();
      }
      if (size > LARGEST) {
        from.cancel();
        to.onError(new IOException("the answer has more than " + LARGEST + " bytes"));
        return;
      }
      to.onNext(parts);
    }

    @Override
    public void onError(Throwable problem) {
      to.onError(problem);
    }

    @Override
    public void onComplete() {
      to.onComplete();
    }
  }
}

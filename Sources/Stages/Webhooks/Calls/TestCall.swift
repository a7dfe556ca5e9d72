internal import Catalog
package import CatalogRecords
internal import JSON
internal import Lifecycle
internal import Telemetry
package import TokenSealing

/// One call of an endpoint with an event of the type `webhook.test`, which no topic has. It is signed, sent and guarded
/// like every other call, but it is not repeated.
package struct TestCall: Sendable {
    private let endpoint: WebhookEndpoint
    private let settings: WebhooksSettings

    package init(of endpoint: WebhookEndpoint, with settings: WebhooksSettings) {
        self.endpoint = endpoint
        self.settings = settings
    }

    /// The result of a test call.
    package struct Result: Sendable {
        package let outcome: CallOutcome
        package let milliseconds: Int
    }

    /// Calls the endpoint.
    ///
    /// - Parameter keys: The sealing keys of the installation, which open the endpoint's secrets.
    package func run(with keys: SealingKeys?) async throws -> Result {
        let now = WallTime.now()
        guard let url = WebhookURL(endpoint.url), url.scheme == .https || settings.allowsHTTP else {
            let reason = "plain HTTP is not allowed; use https, or set webhooks.allow-http"
            return Result(outcome: .failed(reason: reason, retryAfterSeconds: nil), milliseconds: 0)
        }
        let seal = TokenSeal(keys: keys)
        let secrets = try endpoint.signingSecrets(at: now.milliseconds).map {
            try WebhookSecret.open($0, of: endpoint, with: seal)
        }
        let request = WebhookRequest(
            to: url, id: "test-\(now.milliseconds)", body: body(at: now), keys: secrets, seconds: now.seconds)
        let (settings, tls, startedAt) = (settings, try settings.makeTLSContext(), Instant.now())
        let owner = try LoopOwned(thread: "webhook-test") { owner in
            EndpointClient(
                to: url, tls: tls, networks: NetworkGuard(allowing: settings.allowedNetworks), on: owner.loop,
                callMilliseconds: settings.callMilliseconds)
        }
        let outcome = await withCheckedContinuation { (answered: CheckedContinuation<CallOutcome, Never>) in
            owner.execute { $0.send(request) { answered.resume(returning: $0) } }
        }
        await owner.stop { $0.close() }
        return Result(outcome: outcome, milliseconds: Instant.now().milliseconds(since: startedAt))
    }

    private func body(at now: WallTime) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.field("type", "webhook.test")
        json.field("timestamp", now.rfc3339)
        json.name("data")
        json.beginObject()
        json.field("app", endpoint.app)
        json.field("endpoint", endpoint.name)
        json.endObject()
        json.endObject()
        return json.bytes
    }
}

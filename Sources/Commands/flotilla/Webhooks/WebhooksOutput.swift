internal import Catalog
internal import CatalogRecords
internal import JSON
internal import Telemetry

/// The output of webhook endpoints: a table for people, or a JSON object per line for programs. Only the JSON has a
/// secret, and only when the secret is new. For people, the caller prints a new secret itself.
struct WebhooksOutput {
    private let endpoints: [WebhookEndpoint]
    private let secret: WebhookSecret?

    init(_ endpoints: [WebhookEndpoint], secret: WebhookSecret? = nil) {
        self.endpoints = endpoints
        self.secret = secret
    }

    func show(for invocation: Invocation) {
        if invocation.isJSON {
            for endpoint in endpoints { print(json(of: endpoint)) }
        } else if endpoints.isEmpty {
            print("no webhook endpoint; `flotilla webhooks --help` says how to create one")
        } else {
            print(Table(headers: ["endpoint", "state", "events", "url"], rows: endpoints.map(cells)).text)
        }
    }

    private func cells(of endpoint: WebhookEndpoint) -> [String] {
        let isComplete = endpoint.types.count == WebhookEventType.allCases.count
        return [
            endpoint.name, endpoint.disabling.map { "disabled: " + $0.reason } ?? "enabled",
            isComplete ? "all" : endpoint.types.map(\.rawValue).joined(separator: ","), endpoint.url,
        ]
    }

    private func json(of endpoint: WebhookEndpoint) -> String {
        JSONLine.text { writer in
            writer.field("app", endpoint.app)
            writer.field("name", endpoint.name)
            writer.field("url", endpoint.url)
            writer.field("events", endpoint.types.map(\.rawValue))
            writer.field("createdAt", endpoint.createdAt)
            // The newest secret is the first.
            writer.field("secretCreatedAt", endpoint.secrets.first?.createdAt)
            writer.field("disabledAt", endpoint.disabling?.at)
            writer.field("disabledBecause", endpoint.disabling?.reason)
            writer.field("replayedAt", endpoint.replay?.requestedAt)
            writer.field("secret", secret?.text)
        }
    }
}

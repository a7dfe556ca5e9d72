internal import Catalog
internal import CatalogRecords
internal import Lifecycle
internal import Settings
internal import Telemetry
internal import Webhooks

extension Command {
    /// `flotilla webhooks`: the endpoints that receive events.
    static let webhooks = Command(
        name: "webhooks",
        summary: "Lists, creates, changes, tests and deletes the webhook endpoints of an app.",
        usage:
            "list APP | show APP NAME | create APP NAME --url URL [--events TYPES] | enable APP NAME | rotate APP NAME | replay APP NAME --from TIME|TOPIC/PARTITION/OFFSET [--yes] | test APP NAME | delete APP NAME [--yes]",
        example: "flotilla webhooks create shop billing --url https://example.com/hooks",
        settings: ["webhooks.", "topics.prefix", "kafka.", "tokens."],
        options: [
            .value("--url", "create: the URL that is called; a plain http URL needs webhooks.allow-http"),
            .value(
                "--events", "create: the types of events, separated by commas; the default is all types"),
            .value(
                "--from",
                "replay: events of this last period (2h), since a date (2026-11-20T20:00:00Z), or of one partition from an offset (events/3/1042)"
            ),
            .flag("--yes", "replay, delete: does not ask for confirmation"),
            .flag("--json", "prints one JSON object per line instead of a table"),
        ]
    ) { invocation in
        let call = try WebhooksCall(for: invocation)
        switch call.verb {
        case .list: WebhooksOutput(call.endpoints).show(for: invocation)
        case .show: WebhooksOutput([try call.endpoint()]).show(for: invocation)
        case .create: try call.create()
        case .enable: try call.enable()
        case .rotate: try call.rotate()
        case .replay: try call.replay()
        case .test: try await call.test()
        case .delete: try call.delete()
        }
    }
}

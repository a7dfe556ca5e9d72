internal import Identifiers
package import JSON
internal import RecordFormat

/// An endpoint of an app that receives events by HTTP: a record of `catalog`.
///
/// The webhooks stage signs each call with the endpoint's secrets. So it needs the secrets themselves, and a hash is not
/// enough. They are sealed with the installation's sealing keys.
package struct WebhookEndpoint: JSONRecord, Hashable {
    package static let schemaVersion = 1
    /// The most endpoints of one app. A further one is refused.
    package static let countPerAppMax = 10
    /// The newest secret and its predecessor.
    package static let secretsMax = 2
    /// The time for which the older secret still signs after a rotation, in milliseconds.
    package static let rotationMilliseconds: Int64 = 86_400_000

    /// One sealed secret.
    package struct Secret: Sendable, Hashable {
        /// Milliseconds since 1970.
        package var createdAt: Int64
        /// The result of `TokenSeal.seal(secret:app:name:)`.
        package var sealed: String

        package init(createdAt: Int64, sealed: String) {
            self.createdAt = createdAt
            self.sealed = sealed
        }
    }

    /// The reason why the endpoint is not called any more, and the time from which on it is not.
    package struct Disabling: Sendable, Hashable {
        /// Milliseconds since 1970.
        package var at: Int64
        package var reason: String

        package init(at: Int64, reason: String) {
            self.at = at
            self.reason = reason
        }
    }

    /// The position from which events are sent again.
    package enum ReplayStart: Sendable, Hashable {
        /// All events since this time, in milliseconds since 1970.
        case time(Int64)
        /// All events of one partition from an offset. The topic has no prefix.
        case offset(topic: String, partition: Int32, offset: Int64)
    }

    /// A request to send events again. It is carried out once for each partition.
    package struct Replay: Sendable, Hashable {
        /// Milliseconds since 1970. It also identifies the request.
        package var requestedAt: Int64
        package var start: ReplayStart

        package init(requestedAt: Int64, start: ReplayStart) {
            self.requestedAt = requestedAt
            self.start = start
        }
    }

    package var app: String
    /// Letters, digits, dots, underscores and dashes, as in an app's id.
    package var name: String
    package var url: String
    /// The types of events that the endpoint receives, in the order of `WebhookEventType`. Never empty.
    package var types: [WebhookEventType]
    /// The secrets, the newest one first.
    package var secrets: [Secret]
    /// Milliseconds since 1970. The endpoint receives events from this time on.
    package var createdAt: Int64
    /// Nil while the endpoint is called.
    package var disabling: Disabling?
    package var replay: Replay?

    package init(
        app: String, name: String, url: String, types: [WebhookEventType], secrets: [Secret], createdAt: Int64
    ) {
        self.app = app
        self.name = name
        self.url = url
        self.types = types
        self.secrets = secrets
        self.createdAt = createdAt
    }

    /// The name under which `TokenSeal` seals the secrets of an endpoint.
    package static func secretName(of endpoint: String) -> String { "webhook/" + endpoint }

    /// The key of the record, for example `webhook/shop/billing`.
    package var key: [UInt8] { RecordKey.join("webhook", app, name) }

    /// Returns the secrets that sign a call at this time, in milliseconds since 1970.
    package func signingSecrets(at now: Int64) -> [Secret] {
        guard let newest = secrets.first else { return [] }
        return now < newest.createdAt + Self.rotationMilliseconds ? secrets : [newest]
    }

    /// Adds a new secret. The one before it signs for another day.
    package mutating func rotate(to secret: Secret) {
        secrets = [secret] + secrets.prefix(Self.secretsMax - 1)
    }

    package func write(to writer: inout JSONWriter) {
        writer.field("app", app)
        writer.field("name", name)
        writer.field("url", url)
        writer.field("events", types.map(\.rawValue))
        writer.objects("secrets", of: secrets) { secret, writer in
            writer.field("createdAt", secret.createdAt)
            writer.field("sealed", secret.sealed)
        }
        writer.field("createdAt", createdAt)
        if let disabling {
            writer.name("disabled")
            writer.beginObject()
            writer.field("at", disabling.at)
            writer.field("reason", disabling.reason)
            writer.endObject()
        }
        if let replay {
            writer.name("replay")
            writer.beginObject()
            replay.write(to: &writer)
            writer.endObject()
        }
    }

    package init(from record: JSONObject) {
        let url = record["url"]
        self.init(
            app: record["app"].appID(), name: record["name"].appID(), url: url.webhookURL()?.text ?? "",
            types: record["events"].knownWebhookEventTypes(),
            secrets: record["secrets"].objects(countMax: Self.secretsMax) { secret in
                Secret(createdAt: secret["createdAt"].timeMilliseconds(), sealed: secret["sealed"].string())
            }, createdAt: record["createdAt"].timeMilliseconds())
        if let value = record["disabled"].optional {
            let object = value.object()
            disabling = Disabling(
                at: object["at"].timeMilliseconds(), reason: object["reason"].string())
        }
        replay = record["replay"].optional.map { Replay(from: $0.object()) }
    }
}

extension WebhookEndpoint {
    /// The beginning of the consumer groups of all endpoints, without the prefix of the installation.
    package static let consumerGroupPrefix = "webhooks/"

    /// The consumer group of the endpoint, without the prefix of the installation. An endpoint that is deleted and created
    /// again has another group, so it does not receive events from before its creation.
    package var consumerGroup: String { "\(Self.consumerGroupPrefix)\(app)/\(name)/\(createdAt)" }
}

extension WebhookEndpoint.Replay {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.field("requestedAt", requestedAt)
        switch start {
        case .time(let time): writer.field("since", time)
        case .offset(let topic, let partition, let offset):
            writer.field("topic", topic)
            writer.field("partition", Int(partition))
            writer.field("offset", offset)
        }
    }

    fileprivate init(from object: JSONObject) {
        requestedAt = object["requestedAt"].timeMilliseconds()
        if let since = object["since"].optional {
            start = .time(since.timeMilliseconds())
        } else {
            start = .offset(
                topic: object["topic"].string(),
                partition: Int32(object["partition"].int(in: 0...Int(Int32.max))),
                offset: Int64(object["offset"].int(in: 0...Int.max)))
        }
    }
}

extension JSONValue {
    /// Reads a URL and reports an invalid one.
    package func webhookURL() -> WebhookURL? {
        let text = string()
        let url = WebhookURL(text)
        if url == nil, kind == .string {
            report(
                "must be a URL such as https://example.com/hooks of at most \(WebhookURL.bytesMax) bytes, without a user and a fragment"
            )
        }
        return url
    }

    /// Reads the types of a person's request and reports unknown ones. Without the field these are all types.
    package func webhookEventTypes() -> [WebhookEventType] {
        guard optional != nil else { return WebhookEventType.allCases }
        var types: Set<WebhookEventType> = []
        var elements = array(countMax: WebhookEventType.allCases.count)
        while let element = elements.next() {
            if let type = element.choice(of: WebhookEventType.self) { types.insert(type) }
        }
        if kind == .array, types.isEmpty { report("must name at least one event; leave it out for all") }
        return WebhookEventType.allCases.filter(types.contains)
    }

    /// The limit of types in a record: more than any program will know.
    private static let storedTypesMax = 100

    /// Reads the types of a record. Types of a newer program are ignored.
    fileprivate func knownWebhookEventTypes() -> [WebhookEventType] {
        let names = Set(strings(countMax: Self.storedTypesMax))
        return WebhookEventType.allCases.filter { names.contains($0.rawValue) }
    }
}

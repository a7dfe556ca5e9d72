internal import Identifiers
package import JSON

/// Facts about a process for people, as a record of the topic `members`: its version, settings and open
/// breakers. Each process writes one. No decision of a stage depends on it.
package struct ProcessFacts: MembersRecord, Hashable {
    package static let schemaVersion = 1
    /// The first part of the record's key. A `Member` has its stage there.
    static let keyPrefix = "process"
    private static let stagesMax = 100
    private static let settingsMax = 1000
    /// The maximum number of open breakers in one record.
    package static let breakersMax = 1000

    /// A setting of the process.
    package struct Setting: Sendable, Hashable {
        package var key: String
        /// The value as text. A secret is `<set>`.
        package var value: String

        package init(key: String, value: String) {
            self.key = key
            self.value = value
        }
    }

    /// An open breaker: the process pauses the pushes of an app to one APNs environment, because a setting of
    /// the app is wrong.
    package struct Breaker: Sendable, Hashable {
        package var app: String
        package var environment: String

        package init(app: String, environment: String) {
            self.app = app
            self.environment = environment
        }
    }

    /// The identity of the process. A second process with the same identity is an error (`IdentityCheck`).
    package var process: String
    package var version: String
    package var stages: [String]
    package var settings: [Setting]
    package var openBreakers: [Breaker] = []
    /// The newest calls of webhook endpoints.
    package var deliveries: [WebhookDelivery] = []
    /// The number of tokens whose last push failed, or nil if the process does not push.
    package var suspectTokens: Int?
    /// The name of the machine.
    package var host: String
    /// A random name of this run of the process. It differs between two processes with one identity.
    package var instance: String
    /// Milliseconds since 1970.
    package var startedAt: Int64
    package var at: Int64 = 0

    package init(
        process: String, host: String = "", instance: String = "", version: String, stages: [String],
        settings: [Setting], startedAt: Int64
    ) {
        self.process = process
        self.host = host
        self.instance = instance
        self.version = version
        self.stages = stages
        self.settings = settings
        self.startedAt = startedAt
    }

    package var key: [UInt8] { RecordKey.join(Self.keyPrefix, process) }

    package func write(to writer: inout JSONWriter) {
        writer.field("process", process)
        writer.field("host", host)
        writer.field("instance", instance)
        writer.field("version", version)
        writer.field("stages", stages)
        writer.objects("settings", of: settings) { setting, writer in
            writer.field("key", setting.key)
            writer.field("value", setting.value)
        }
        writer.objects("openBreakers", of: openBreakers) { breaker, writer in
            writer.field("app", breaker.app)
            writer.field("environment", breaker.environment)
        }
        if !deliveries.isEmpty { writer.objects("deliveries", of: deliveries) { $0.write(to: &$1) } }
        writer.field("suspectTokens", suspectTokens)
        writer.field("startedAt", startedAt)
        writer.field("at", at)
    }

    package init(from record: JSONObject) {
        self.init(
            process: record["process"].name(), host: record["host"].optional?.string() ?? "",
            instance: record["instance"].optional?.string() ?? "", version: record["version"].name(),
            stages: record["stages"].strings(countMax: Self.stagesMax), settings: [],
            startedAt: record["startedAt"].timeMilliseconds())
        var elements = record["settings"].array(countMax: Self.settingsMax)
        while let element = elements.next() {
            let object = element.object()
            settings.append(Setting(key: object["key"].name(), value: object["value"].string()))
        }
        elements = record["openBreakers"].array(countMax: Self.breakersMax)
        while let element = elements.next() {
            let object = element.object()
            openBreakers.append(
                Breaker(app: object["app"].name(), environment: object["environment"].name()))
        }
        if var elements = record["deliveries"].optional?.array(countMax: WebhookDelivery.countMax) {
            while let element = elements.next() { deliveries.append(WebhookDelivery(from: element.object())) }
        }
        suspectTokens = record["suspectTokens"].optional?.int(in: 0...Int.max)
        at = record["at"].timeMilliseconds()
    }
}

package import JSON
internal import LiveActivity

/// Facts that a process reports about itself to people, for any stages: a record of `members`. No decision
/// depends on them.
package struct ProcessFacts: Announcement, Hashable {
    package static let schemaVersion = 1
    /// The first part of the key, where a member has its stage.
    static let keyPrefix = "process"
    private static let stagesMax = 100
    private static let settingsMax = 1000
    /// The maximum number of open breakers in one record.
    package static let breakersMax = 1000

    package struct Setting: Sendable, Hashable {
        package var key: String
        /// The value in its public form, without secrets.
        package var value: String

        package init(key: String, value: String) {
            self.key = key
            self.value = value
        }
    }

    /// An app whose pushes pause in one APNs environment, because its setting is wrong.
    package struct Breaker: Sendable, Hashable {
        package var app: String
        package var environment: String

        package init(app: String, environment: String) {
            self.app = app
            self.environment = environment
        }
    }

    package var process: String
    package var version: String
    package var stages: [String]
    package var settings: [Setting]
    package var openBreakers: [Breaker] = []
    /// The number of tokens whose last push failed, or nil if the process does not push.
    package var suspectTokens: Int?
    /// The name of the machine.
    package var host: String
    /// A random name of this run of the process; two runs of one identity differ in it.
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
        var list = record["settings"].array(countMax: Self.settingsMax)
        while let element = list.next() {
            let object = element.object()
            settings.append(Setting(key: object["key"].name(), value: object["value"].string()))
        }
        list = record["openBreakers"].array(countMax: Self.breakersMax)
        while let element = list.next() {
            let object = element.object()
            openBreakers.append(
                Breaker(app: object["app"].name(), environment: object["environment"].name()))
        }
        suspectTokens = record["suspectTokens"].optional?.int(in: 0...Int.max)
        at = record["at"].timeMilliseconds()
    }
}

internal import FanOut
internal import Gateway
internal import Ingest
internal import Insight
internal import Scheduler
internal import Sender
internal import Settings
internal import StageSupport
internal import Topics
internal import Webhooks

/// One stage that `flotilla run` and `flotilla up` can run, such as `ingest`: its facts, and a function that makes it.
struct StageKind: Sendable {
    let name: String
    let summary: String
    /// The topics that the stage reads and writes.
    let topics: [TopicName]
    /// The file descriptors that the stage needs at most.
    let descriptors: StageFileDescriptors
    /// The settings of this stage, in the order of the operator's table.
    let settings: [SettingDeclaration]
    let make: @Sendable (ResolvedSettings, StageEnvironment) -> any Stage

    init<Kind: Stage>(of stage: Kind.Type) {
        name = Kind.name
        summary = Kind.summary
        topics = Kind.topics
        descriptors = Kind.fileDescriptors
        settings = Kind.Settings.declared.declarations
        make = { settings, environment in Kind(settings[Kind.Settings.self], in: environment) }
    }

    static func named(_ name: String) -> StageKind? { all.first { $0.name == name } }

    /// All stages, in the order in which reports and sends pass them.
    static let all = [
        StageKind(of: GatewayService.self), StageKind(of: IngestService.self),
        StageKind(of: SchedulerService.self),
        StageKind(of: FanOutService.self), StageKind(of: SenderService.self),
        StageKind(of: InsightService.self), StageKind(of: WebhooksService.self),
    ]

    /// The prefixes of the stages' setting keys, each once, such as `ingest.`.
    static let settingPrefixes = all.flatMap(\.settings).reduce(into: [String]()) { prefixes, setting in
        let prefix = String(setting.key.prefix { $0 != "." }) + "."
        if !prefixes.contains(prefix) { prefixes.append(prefix) }
    }
}

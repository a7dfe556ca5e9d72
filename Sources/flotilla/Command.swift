internal import Settings

/// One word after `flotilla`: what it is called, what it says of itself, and what it does.
struct Command: Sendable {
    let name: String
    /// One sentence for the overview.
    let summary: String
    /// What stands after the name: `[--data DIR]`.
    let usage: String
    let example: String
    /// Settings whose keys begin with this may be given by their short flags.
    var namespace: String?
    /// The prefixes of the settings that its help lists.
    var settings: [String] = []
    /// Options that are no settings, with whether they take a value, and their sentence.
    var options: [(flag: String, takesValue: Bool, sentence: String)] = []
    /// Whether it serves until a signal ends it in order.
    var runsUntilStopped = false
    let run: @Sendable (Invocation) async throws -> Void

    static func named(_ name: String) -> Command? { all.first { $0.name == name } }

    static func unknown(_ name: String) -> String {
        "there is no command \(name); `flotilla --help` lists them"
    }

    /// In the order in which a newcomer meets them.
    static let all: [Command] = [
        .up, .down, .run, .broker, .topics, .apps, .types, .segments, .keys, .report, .send, .cancel,
        .schedules,
        .group, .user,
        .installation, .lag, .deadLetters, .replay, .simulator, .sealingKeys, .doctor, .healthCheck,
        .config,
        .version,
    ]
}

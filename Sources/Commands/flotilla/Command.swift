/// One command of the binary: its name, its help, and the function that carries it out.
struct Command: Sendable {
    let name: String
    /// One sentence for the overview.
    let summary: String
    /// The part of the usage line after the name: `[--data DIR]`.
    let usage: String
    let example: String
    /// The prefix of the settings that also have short flags in this command. With `up`, `--data` sets
    /// `up.data`.
    var namespace: String?
    /// The prefixes of the settings that the help lists, such as `kafka.`. Each command accepts all settings.
    var settings: [String] = []
    /// The options that are not settings.
    var options: [CommandOption] = []
    /// Whether the command serves until a signal stops it.
    var runsUntilStopped = false
    let run: @Sendable (Invocation) async throws -> Void

    static func named(_ name: String) -> Command? { all.first { $0.name == name } }

    /// All commands, in the order in which a new user needs them.
    static let all: [Command] = [
        .up, .down, .run, .broker, .topics, .apps, .types, .segments, .keys, .report, .send, .cancel,
        .schedules, .webhooks, .groups, .users, .installations, .sends, .events, .audit, .group, .user,
        .installation, .lag,
        .deadLetters, .replay, .repair, .simulator,
        .sealingKeys, .doctor, .healthCheck, .config, .version,
    ]
}

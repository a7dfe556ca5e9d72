internal import FoundationEssentials
internal import Identifiers
internal import Lifecycle
internal import Settings

/// One call of a command: its words and options, and the settings from flags, environment, file and defaults.
struct Invocation: Sendable {
    let positionals: [String]
    let options: [String: String]
    let settings: ResolvedSettings

    init(of command: Command, arguments: [String]) throws {
        let known = Dictionary(uniqueKeysWithValues: command.options.map { ($0.flag, $0.takesValue) })
        let environment = ProcessInfo.processInfo.environment
        let parsed: CommandLineArguments
        do {
            parsed = try CommandLineArguments(
                arguments, schema: AllSettings.schema, namespace: command.namespace, options: known)
        } catch {
            throw CommandError(
                status: .usage, "\(error)\nsee `flotilla \(command.name) --help`")
        }
        positionals = parsed.positionals
        options = parsed.options
        do {
            settings = try ResolvedSettings(
                schema: AllSettings.schema, file: parsed.settingsFile ?? environment[settingsFileVariable],
                environment: environment, flags: parsed.flags)
        } catch {
            throw CommandError(status: .configuration, "\(error)")
        }
    }

    /// Returns the app that `--app` names.
    func requireApp() throws -> String {
        guard let app = options["--app"], AppIDRules.problem(app) == nil else {
            throw CommandError(status: .usage, "name the app with --app")
        }
        return app
    }

    /// Throws if there are words, for commands that take none.
    func requireNoPositionals() throws {
        if let word = positionals.first { throw CommandError(status: .usage, "unexpected word \(word)") }
    }
}

/// An error of a command that cannot be carried out, with the reason.
struct CommandError: FatalError {
    let exitStatus: ExitStatus
    let description: String

    init(status: ExitStatus, _ description: String) {
        exitStatus = status
        self.description = description
    }
}

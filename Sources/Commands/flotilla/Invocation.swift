internal import FoundationEssentials
internal import Identifiers
internal import Lifecycle
internal import Settings

/// One call of a command: its positional arguments and options, and the settings from flags, environment, file
/// and defaults.
struct Invocation: Sendable {
    /// The arguments that are neither options nor settings: `create`, `shop` of `flotilla apps create shop`.
    let positionals: [String]
    /// The values of the options, by name with dashes. An option that takes no value has the value `true`.
    let options: [String: String]
    let settings: ResolvedSettings

    init(of command: Command, arguments: [String]) throws {
        let takesValueByOption = Dictionary(
            uniqueKeysWithValues: command.options.map { ($0.name, $0.takesValue) })
        let environment = ProcessInfo.processInfo.environment
        let parsed: CommandLineArguments
        do {
            parsed = try CommandLineArguments(
                arguments, schema: AllSettings.schema, namespace: command.namespace,
                options: takesValueByOption)
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

    func hasOption(_ name: String) -> Bool { options[name] != nil }

    /// Whether the result is printed as JSON for programs.
    var isJSON: Bool { hasOption("--json") }

    var isDryRun: Bool { hasOption("--dry-run") }

    /// Returns the app that `--app` names.
    func requireApp() throws -> String {
        guard let app = options["--app"] else {
            throw CommandError(status: .usage, "name the app with --app")
        }
        if let problem = AppIDRules.problem(app) { throw CommandError(status: .usage, "--app \(problem)") }
        return app
    }

    /// Throws if there are positional arguments, for commands that take none.
    func requireNoPositionals() throws {
        if let positional = positionals.first {
            throw CommandError(status: .usage, "unexpected word \(positional)")
        }
    }
}

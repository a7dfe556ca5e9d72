internal import FoundationEssentials
internal import Lifecycle
internal import LiveActivity
internal import Settings

/// A command as it was called: its words and options, and the settings from all four places.
struct Invocation: Sendable {
    let words: [String]
    let options: [String: String]
    let settings: ResolvedSettings

    init(_ command: Command, _ arguments: [String]) throws {
        let known = Dictionary(uniqueKeysWithValues: command.options.map { ($0.flag, $0.takesValue) })
        let environment = ProcessInfo.processInfo.environment
        let parsed: Arguments
        do {
            parsed = try Arguments(
                arguments, schema: AllSettings.schema, namespace: command.namespace, options: known)
        } catch {
            throw Refusal(
                status: .usage, "\(error)\n`flotilla \(command.name) --help` shows how it is called")
        }
        words = parsed.words
        options = parsed.options
        do {
            settings = try ResolvedSettings(
                AllSettings.schema, file: parsed.file ?? environment[settingsFileVariable],
                environment: environment, flags: parsed.flags)
        } catch {
            throw Refusal(status: .configuration, "\(error)")
        }
    }

    /// The app that `--app` names, for commands that are about one.
    func app() throws -> String {
        guard let app = options["--app"], AppID.problem(app) == nil else {
            throw Refusal(status: .usage, "name the app with --app")
        }
        return app
    }

    /// For commands that take no words.
    func refuseWords() throws {
        if let word = words.first { throw Refusal(status: .usage, "unexpected word \(word)") }
    }
}

/// A command that cannot be carried out, and why.
struct Refusal: Fatal {
    let exitStatus: ExitStatus
    let description: String

    init(status: ExitStatus, _ description: String) {
        exitStatus = status
        self.description = description
    }
}

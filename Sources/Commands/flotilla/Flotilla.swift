internal import Glibc
internal import Lifecycle
internal import Settings

/// The entry point of the binary. It finds the command, runs it, and turns each error into one sentence and
/// an exit status.
@main
struct Flotilla {
    /// Parses the arguments and runs the command in one concurrent function. An actor call from `main` itself
    /// costs a thousand times as much as one from a task. The main thread must not await: libdispatch takes
    /// over a suspended main thread and lets it receive every signal, so SIGTERM would kill the process.
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        Signals.ignorePipe()
        Signals.ignoreFileSize()
        DescriptorLimit.raise()
        // A long-running command handles Ctrl-C itself. The others end at Ctrl-C like any program.
        let runsUntilStopped = arguments.first.flatMap(Command.named)?.runsUntilStopped ?? false
        if runsUntilStopped { Signals.block() }
        Task.detached {
            let status = await runCommand(arguments: arguments)
            exit(status.rawValue)
        }
        Signals.sleepForever()
    }

    /// Runs the command and prints its error, or prints the help that the arguments ask for.
    @concurrent
    private static func runCommand(arguments: [String]) async -> ExitStatus {
        guard let name = arguments.first else {
            StandardError.printLine(Help.overview)
            return .usage
        }
        if name == "--version" {
            print("flotilla \(flotillaVersion)")
            return .success
        }
        if ["--help", "-h", "help"].contains(name) {
            guard arguments.count > 1 else {
                print(Help.overview)
                return .success
            }
            guard let command = Command.named(arguments[1]) else { return refuseCommand(named: arguments[1]) }
            print(Help.text(of: command))
            return .success
        }
        guard let command = Command.named(name) else { return refuseCommand(named: name) }
        let commandArguments = Array(arguments.dropFirst())
        if commandArguments.contains("--help") || commandArguments.contains("-h") {
            print(Help.text(of: command))
            return .success
        }
        if commandArguments == ["--version"] {
            print("flotilla \(flotillaVersion)")
            return .success
        }
        do {
            try await command.run(Invocation(of: command, arguments: commandArguments))
            return .success
        } catch {
            for line in "\(error)".split(separator: "\n") {
                StandardError.printLine("flotilla \(name): \(line)")
            }
            return ExitStatus(of: error)
        }
    }

    private static func refuseCommand(named name: String) -> ExitStatus {
        StandardError.printLine("flotilla: there is no command \(name); `flotilla --help` lists them")
        return .usage
    }
}

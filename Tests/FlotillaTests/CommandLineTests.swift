import Foundation
import ProcessTesting
import Testing

// The command line of the binary itself: help, wrong calls and settings.

@Test func `a call without a command prints the overview and exits with a usage error`() async throws {
    let answer = try await flotilla()
    #expect(answer.status == ExitCode.usage)
    #expect(answer.errors.contains("usage: flotilla COMMAND"))
}

@Test(arguments: [
    "up", "down", "run", "broker", "topics", "apps", "types", "segments", "keys", "report", "send", "cancel",
    "schedules", "webhooks", "groups", "users", "installations", "sends", "events", "audit", "group", "user",
    "installation", "lag", "dead-letters", "replay", "repair", "apns-simulator", "sealing-keys", "doctor",
    "health-check", "config", "version",
])
func `every command has help with an example`(command: String) async throws {
    let answer = try await flotilla(command, "--help")
    #expect(answer.status == 0)
    #expect(answer.output.contains("usage: flotilla \(command)"))
    #expect(answer.output.contains("example: flotilla \(command)"))
}

@Test(arguments: [["-h"], ["help"], ["lag", "-h"], ["groups", "--help"]])
func `help has the spellings that people try`(arguments: [String]) async throws {
    let answer = try ChildProcess(builtProductPath(named: "flotilla"), arguments: arguments)
    #expect(try await answer.exitStatus() == 0)
    #expect(answer.output.contains("usage: flotilla"))
}

@Test(arguments: [["--version"], ["version"], ["up", "--version"]])
func `the version has the spellings that people try`(arguments: [String]) async throws {
    let answer = try ChildProcess(builtProductPath(named: "flotilla"), arguments: arguments)
    #expect(try await answer.exitStatus() == 0)
    #expect(answer.output.hasPrefix("flotilla ") && answer.output.split(separator: " ").count == 2)
}

@Test func `an unknown command and an unknown flag are usage errors that say what to do`() async throws {
    let command = try await flotilla("confg")
    #expect(command.status == ExitCode.usage)
    #expect(command.errors == "flotilla: there is no command confg; `flotilla --help` lists them\n")
    let help = try await flotilla("help", "confg")
    #expect(help.status == ExitCode.usage && help.errors == command.errors)
    let flag = try await flotilla("config", "--shw")
    #expect(flag.status == ExitCode.usage)
    #expect(flag.errors.contains("unknown flag --shw; did you mean --show?"))
}

@Test func `all wrong and unknown settings are reported together as a configuration error`() async throws {
    let misspelledVariable = "FLOTILLA_LOG_LEVL"
    let answer = try await flotilla(
        "config", "--show", "--log-format=xml",
        environment: ["FLOTILLA_LOG_LEVEL": "loud", misspelledVariable: "x"])
    #expect(answer.status == ExitCode.configuration)
    // A line for the format, the level and the unknown variable.
    #expect(answer.errors.split(separator: "\n").count == 3, "\(answer.errors)")
    #expect(answer.errors.contains("did you mean FLOTILLA_LOG_LEVEL?"))
}

@Test func `config --show prints each value and its source`() async throws {
    let directory = try TemporaryDirectory()
    let file = try directory.writeFile(
        named: "flotilla.json5", content: "{ log: { level: 'debug' }, /* from a file */ }")
    let answer = try await flotilla(
        "config", "--show", "--config", file, environment: ["FLOTILLA_LOG_FORMAT": "text"])
    #expect(answer.status == 0)
    let lines = answer.output.split(separator: "\n").map {
        $0.split(separator: " ", maxSplits: 2).map(String.init)
    }
    #expect(lines.contains { $0[0] == "log.level" && $0[1] == "debug" && $0[2].hasSuffix("file \(file)") })
    #expect(lines.contains { $0[0] == "log.format" && $0[2].hasSuffix("environment FLOTILLA_LOG_FORMAT") })
}

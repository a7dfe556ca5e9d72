import Testing

@testable import Settings

// The arguments of a command line.

@Test func `flags are settings by short or whole name, and other arguments are words`() throws {
    let arguments = try CommandLineArguments(
        ["--listen", "0.0.0.0:1", "--gateway-wait=3s", "one", "--yes", "--allow-remote", "--", "--two"],
        schema: Sample.schema, namespace: "broker", options: ["--yes": false])
    #expect(arguments.flags.map(\.key) == ["broker.listen", "gateway.wait", "broker.allow-remote"])
    #expect(arguments.flags.map(\.text) == ["0.0.0.0:1", "3s", "true"])
    #expect(arguments.options == ["--yes": "true"])
    #expect(arguments.positionals == ["one", "--two"])
    #expect(arguments.settingsFile == nil)
}

@Test func `a mistyped flag names the nearest flag, and a flag without its value is reported`() {
    #expect(
        problems {
            _ = try CommandLineArguments(
                ["--lisen", "x", "--wait"], schema: Sample.schema, namespace: "broker")
        }
            == ["unknown flag --lisen; did you mean --listen?", "unknown flag --wait"])
    #expect(
        problems { _ = try CommandLineArguments(["--gateway-wait"], schema: Sample.schema) } == [
            "--gateway-wait needs a value"
        ])
    #expect(
        problems { _ = try CommandLineArguments(["--config"], schema: Sample.schema) } == [
            "--config needs a value"
        ])
}

@Test func `the settings file is named by --config`() throws {
    #expect(
        try CommandLineArguments(["--config", "a.json5"], schema: Sample.schema).settingsFile == "a.json5")
    #expect(try CommandLineArguments(["--config=b.json5"], schema: Sample.schema).settingsFile == "b.json5")
}

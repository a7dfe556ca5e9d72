import Foundation
import Testing

@testable import Settings

/// A setting with a choice of words.
enum Color: String, SettingValue, CaseIterable {
    case red
    case blue
}

/// Settings of each kind, and their resolution.
enum Sample {
    static let listen = Setting(
        "broker.listen", default: HostPort(host: "127.0.0.1", port: 9092), "where to listen")
    static let limit = Setting(
        "broker.request-max", default: ByteSize(1024), in: ByteSize(1)...ByteSize(1 << 20), "a limit")
    static let color = Setting("broker.color", default: Color.red, "a word")
    static let remote = Setting("broker.allow-remote", default: false, "a switch")
    static let wait = Setting("gateway.wait", default: Milliseconds(250), "a duration")
    static let password = Setting("kafka.password", default: String?.none, "a secret", secret: true)
    static let names = Setting("kafka.names", default: ["a"], "a list")

    static let schema = SettingsSchema(declarations: [
        listen.declaration, limit.declaration, color.declaration, remote.declaration, wait.declaration,
        password.declaration, names.declaration,
    ])

    static func resolve(
        file: String? = nil, environment: [String: String] = [:], _ arguments: [String] = []
    ) throws -> ResolvedSettings {
        let parsed = try CommandLineArguments(arguments, schema: schema, namespace: "broker")
        return try ResolvedSettings(schema: schema, file: file, environment: environment, flags: parsed.flags)
    }
}

/// Runs `body` with a temporary settings file.
func withFile(_ text: String, _ body: (String) throws -> Void) throws {
    let path = NSTemporaryDirectory() + "settings-\(UUID().uuidString).json5"
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    try body(path)
}

/// Returns the problems with which `body` fails.
func problems(_ body: () throws -> Void) -> [String] {
    do {
        try body()
        return []
    } catch let error as SettingsError {
        return error.problems
    } catch {
        return ["another error: \(error)"]
    }
}

@Test func `a flag overrides the environment, the environment the file, and the file the default`() throws {
    try withFile(
        "{ broker: { color: 'blue', 'request-max': '2KiB' }, // a comment\n 'gateway.wait': '1s', }"
    ) { path in
        let settings = try Sample.resolve(
            file: path,
            environment: ["FLOTILLA_GATEWAY_WAIT": "2s", "FLOTILLA_BROKER_REQUEST_MAX": "4KiB", "HOME": "/"],
            ["--request-max", "8KiB"])
        #expect(settings[Sample.limit] == ByteSize(8192))
        #expect(settings[Sample.wait] == Milliseconds(2000))
        #expect(settings[Sample.color] == .blue)
        #expect(settings[Sample.listen] == HostPort(host: "127.0.0.1", port: 9092))
        #expect(settings.origin(ofKey: "broker.request-max") == .flag("--request-max"))
        #expect(settings.origin(ofKey: "gateway.wait") == .environment("FLOTILLA_GATEWAY_WAIT"))
        #expect(settings.origin(ofKey: "broker.color") == .file(path))
        #expect(settings.origin(ofKey: "broker.listen") == .builtIn)
    }
}

@Test func `all problems are reported at once, each with the setting, the value and its origin`() throws {
    try withFile("{ broker: { color: 'green', lissen: 'x:1' } }") { path in
        let reported = problems {
            _ = try Sample.resolve(
                file: path, environment: ["FLOTILLA_GATEWAY_WAIT": "5", "FLOTILLA_GATEWAY_WEIT": "5s"],
                ["--request-max=2GiB"])
        }
        #expect(
            reported == [
                "broker.color must be one of red, blue, not “green” (file \(path))",
                "unknown setting broker.lissen; did you mean broker.listen? (file \(path))",
                "gateway.wait must be a duration with its unit, such as 250ms, 5s, 2m, 24h or 7d, not “5” (environment FLOTILLA_GATEWAY_WAIT)",
                "unknown environment variable FLOTILLA_GATEWAY_WEIT; did you mean FLOTILLA_GATEWAY_WAIT?",
                "broker.request-max must be 1B to 1MiB, not “2GiB” (flag --request-max)",
            ])
    }
}

@Test func `a secret is never shown, not even in an error, and is not accepted from a flag`() throws {
    let settings = try Sample.resolve(environment: ["FLOTILLA_KAFKA_PASSWORD": "hunter2"])
    #expect(settings[Sample.password] == "hunter2")
    #expect(!settings.allEntries.map(\.publicText).joined().contains("hunter2"))
    #expect(settings.allEntries.first { $0.declaration.key == "kafka.password" }?.publicText == "<set>")
    #expect(
        problems { _ = try Sample.resolve(["--kafka-password", "hunter2"]) }
            == [
                "kafka.password is a secret, and every user of the machine can read flags: set it in a file"
            ])
}

@Test func `an unusable file is reported with the reason in one sentence`() throws {
    #expect(
        problems { _ = try Sample.resolve(file: "/nonexistent/flotilla.json5") }
            == ["cannot read the settings file /nonexistent/flotilla.json5: there is no such file"])
    try withFile("{ broker: ") { path in
        let reported = problems { _ = try Sample.resolve(file: path) }
        #expect(reported.count == 1)
        #expect(reported[0].hasPrefix("the settings file \(path) is not JSON5: "), "\(reported)")
    }
    try withFile("[1]") { path in
        #expect(
            problems { _ = try Sample.resolve(file: path) } == [
                "the settings file \(path) must hold one object: { … }"
            ])
    }
}

@Test func `a setting that the file has in both forms is reported`() throws {
    try withFile("{ broker: { color: 'blue' }, 'broker.color': 'red' }") { path in
        #expect(
            problems { _ = try Sample.resolve(file: path) } == [
                "broker.color is set twice, as a nested name and with dots (file \(path))"
            ])
    }
}

@Test func `numbers, switches and lists in the file are read as their text`() throws {
    try withFile("{ broker: { 'allow-remote': true, 'request-max': 7 }, kafka: { names: ['a', 'b'] } }") {
        path in
        let reported = problems { _ = try Sample.resolve(file: path) }
        #expect(reported.count == 1, "a bare number has no unit: \(reported)")
    }
    try withFile("{ broker: { 'allow-remote': true }, kafka: { names: ['a', 'b'] } }") { path in
        let settings = try Sample.resolve(file: path)
        #expect(settings[Sample.remote])
        #expect(settings[Sample.names] == ["a", "b"])
    }
}

@Test func `service variables of Kubernetes with our prefix are ignored`() throws {
    _ = try Sample.resolve(environment: [
        "FLOTILLA_SERVICE_HOST": "10.0.0.1", "FLOTILLA_SERVICE_PORT": "9092",
        "FLOTILLA_SERVICE_PORT_HTTP": "80", "FLOTILLA_PORT": "tcp://10.0.0.1:9092",
        "FLOTILLA_PORT_9092_TCP": "tcp://10.0.0.1:9092",
        "FLOTILLA_GATEWAY_PORT_80_TCP_ADDR": "10.0.0.1", "FLOTILLA_GATEWAY_PORT_80_TCP_PROTO": "tcp",
    ])
    #expect(problems { _ = try Sample.resolve(environment: ["FLOTILLA_PORT": "9092"]) }.count == 1)
    #expect(problems { _ = try Sample.resolve(environment: ["FLOTILLA_PORT_X_TCP": "9092"]) }.count == 1)
}

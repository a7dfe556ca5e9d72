import Testing

@testable import Settings

/// The settings of a made-up program, each with another kind of value.
private struct Lamp: OperatorSettings {
    var listen = HostPort(host: "127.0.0.1", port: 1)
    var threads = 2
    var waitMilliseconds = 1500
    var password: String?
    var color = Color.red

    static let declared = SettingsGroup(prefix: "lamp", defaults: Lamp()) { declare in
        declare("listen", sets: \.listen, "where it listens")
        declare("threads", sets: \.threads, in: 1...4, "how many")
        declare("wait", sets: \.waitMilliseconds, as: Milliseconds.self, in: 0...2000, "how long")
        declare("password", sets: \.password, "a secret", secret: true)
        declare("color", sets: \.color, "a word", check: { $0 == .blue ? "must not be blue" : nil })
    }
}

/// One declaration gives the list, the table, the check and the mapping.
struct SettingsGroupTests {
    private let schema = SettingsSchema(declarations: Lamp.declared.declarations)

    private func lamp(_ arguments: String...) throws -> Lamp {
        let parsed = try CommandLineArguments(arguments, schema: schema)
        return try ResolvedSettings(schema: schema, file: nil, environment: [:], flags: parsed.flags)[
            Lamp.self]
    }

    @Test func `a setting without a value has the default of the code, also in the table`() throws {
        let lamp = try lamp()
        #expect(lamp.listen == Lamp().listen && lamp.threads == 2 && lamp.waitMilliseconds == 1500)
        #expect(lamp.password == nil && lamp.color == .red)
        #expect(schema.markdown.contains("| `lamp.wait` | `1500ms` | how long (0ms to 2s) |"))
        #expect(schema.markdown.contains("| `lamp.listen` | `127.0.0.1:1` | where it listens |"))
    }

    @Test func `a value is stored in the property of its declaration`() throws {
        let lamp = try lamp("--lamp-listen", "[::1]:9", "--lamp-wait=2s", "--lamp-threads", "4")
        #expect(lamp.listen == HostPort(host: "::1", port: 9))
        #expect(lamp.waitMilliseconds == 2000 && lamp.threads == 4 && lamp.color == .red)
    }

    @Test func `the bounds and checks of the declaration apply`() {
        let reported = problems {
            _ = try lamp("--lamp-wait", "3s", "--lamp-threads", "5", "--lamp-color", "blue")
        }
        #expect(
            reported == [
                "lamp.wait must be 0ms to 2s, not “3s” (flag --lamp-wait)",
                "lamp.threads must be 1 to 4, not “5” (flag --lamp-threads)",
                "lamp.color must not be blue, not “blue” (flag --lamp-color)",
            ])
    }
}

import Foundation
import ProcessTesting
import Testing

/// Tests that the page "Your app in 30 minutes" leads to a lock screen. A shell runs its commands, a simulated
/// iPhone receives the pushes, and the test posts the page's reports with the tokens of that iPhone.
struct YourAppPageTests {
    private let page: String

    init() throws { page = try Repository.text(of: "deploy/book/your-app.md") }

    /// Returns the code blocks of the page in a language.
    private func blocks(_ language: String) -> [String] {
        page.components(separatedBy: "```\(language)\n").dropFirst().map {
            $0.components(separatedBy: "\n```")[0]
        }
    }

    @Test func `the page's commands and reports show a delivery on a phone from its start to its END`()
        async throws
    {
        let home = try TemporaryDirectory()
        let apns = try await SimulatedAPNs(in: home)
        let commands = ConsoleStep.blocks(in: page)
        let reports = blocks("json")
        try #require(commands.count == 6 && reports.count == 3)
        let (install, createApp, start, update) = (commands[0], commands[1], commands[2], commands[3])
        let (end, question) = (commands[4], commands[5])
        let (startToken, updateToken, ended) = (reports[0], reports[1], reports[2])

        // The first block copies the provider key in two commands. Instead of its last command, the test starts the
        // installation on free ports.
        let keyCommands = install.filter { !$0.command.hasPrefix("flotilla up ") }
        #expect(keyCommands.count == 2 && install.count == 3)
        try FileManager.default.createDirectory(
            atPath: home.filePath(named: "Downloads"), withIntermediateDirectories: true)
        try FileManager.default.copyItem(
            atPath: apns.keyFile, toPath: home.filePath(named: "Downloads/AuthKey_\(apns.keyID).p8"))
        _ = try await Reader(home: home.path, apns: apns).run(keyCommands)
        let installation = try await Installation(
            home.filePath(named: "data"),
            environment: apns.variables.merging(["FLOTILLA_SENDER_KEYS": home.filePath(named: "keys")]) { $1 }
        )
        let reader = Reader(home: home.path, apns: apns, installation: installation)
        let keys = try await reader.run(createApp, thenPrint: ["REPORT_KEY", "KEY"])
        let phone = ReportingPhone(
            apns: apns, gateway: installation.gateway, reportKey: try #require(keys["REPORT_KEY"]))

        try await phone.report(startToken, tokenKind: "start")
        try await eventually("a start finds the iPhone") {
            try await reader.dryRunFindsPhone(of: start, with: keys)
        }
        _ = try await reader.run(start, with: keys)
        try await phone.waitUntilShown("cooking")

        try await phone.report(updateToken, tokenKind: "update")
        _ = try await reader.run(update, with: keys)
        try await phone.waitUntilShown("on its way")
        try await eventually("the page's question answers that the phone shows the newest state") {
            try await reader.output(of: question, with: keys).contains("it shows version")
        }

        _ = try await reader.run(end, with: keys)
        try await phone.waitUntilShown("delivered")
        try await phone.report(ended, tokenKind: nil)
        try await eventually("the page's question answers that the activity ended") {
            try await reader.output(of: question, with: keys).contains("it ended at")
        }
    }

    @Test func `the page's Swift code compiles against the interface of ActivityKit`() async throws {
        let directory = try TemporaryDirectory()
        let kit = try directory.writeFile(named: "ActivityKit.swift", content: Self.activityKit)
        try await compile(
            "-emit-module", "-parse-as-library", "-module-name", "ActivityKit", "-emit-module-path",
            directory.filePath(named: "ActivityKit.swiftmodule"), kit)
        let code = try blocks("swift").enumerated().map {
            try directory.writeFile(named: "\($0).swift", content: $1)
        }
        #expect(code.count == 2)
        for version in ["5", "6"] {
            try await compile(
                ["-typecheck", "-parse-as-library", "-swift-version", version, "-I", directory.path] + code)
        }
    }

    private func compile(_ arguments: String...) async throws { try await compile(arguments) }

    private func compile(_ arguments: [String]) async throws {
        let compiler = try ChildProcess("swiftc", arguments: arguments)
        #expect(try await compiler.exitStatus() == 0, "\(compiler.errors)")
    }

    /// The part of ActivityKit that the page uses, as Apple declares it.
    private static let activityKit = """
        @_exported import Foundation
        @_exported import FoundationNetworking

        public protocol ActivityAttributes: Codable {
            associatedtype ContentState: Codable & Hashable
        }

        public enum ActivityState: Codable, Sendable { case active, pending, stale, ended, dismissed }

        public struct ActivityAuthorizationInfo {
            public init() {}
            public var areActivitiesEnabled: Bool { true }
            public var frequentPushesEnabled: Bool { true }
        }

        public final class Activity<Attributes: ActivityAttributes>: Identifiable, Sendable {
            public var id: String { "" }
            public var attributes: Attributes { fatalError() }
            public static var activities: [Activity<Attributes>] { [] }
            public static var activityUpdates: AsyncStream<Activity<Attributes>> { AsyncStream { _ in } }
            public static var pushToStartToken: Data? { nil }
            public static var pushToStartTokenUpdates: AsyncStream<Data> { AsyncStream { _ in } }
            public var pushTokenUpdates: AsyncStream<Data> { AsyncStream { _ in } }
            public var activityStateUpdates: AsyncStream<ActivityState> { AsyncStream { _ in } }
        }
        """
}

/// A simulated APNs with one iPhone, whose app does not report: the test reports for it. The simulated APNs prints its
/// addresses and the path of its key.
private struct SimulatedAPNs {
    /// The team whose provider tokens it accepts.
    static let teamID = "FLOTILLA01"

    private let process: ChildProcess
    /// The address of the calls that look at the phone.
    let control: String
    private let ports: (production: String, sandbox: String)
    private let authorities: String
    let keyFile: String
    let keyID: String

    init(in directory: TemporaryDirectory) async throws {
        let types = try directory.writeFile(
            named: "types.json",
            content: #"""
                [{"name":"DeliveryAttributes","groupAttribute":"orderId",
                  "contentStateSchema":{"status":"string","minutes":"int"},
                  "attributesSchema":{"orderId":"string","restaurant":"string"}}]
                """#)
        process = try ChildProcess(
            builtProductPath(named: "flotilla"),
            arguments: [
                "apns-simulator", "--data", directory.filePath(named: "apns"), "--log-format", "text",
                "--port", "0", "--sandbox-port", "0", "--channels-port", "0", "--sandbox-channels-port", "0",
                "--control-listen", "127.0.0.1:0",
                "--phones", "1", "--phone-app", "com.example.tracker", "--phone-types-file", types,
                "--phone-environments", "sandbox",
            ])
        try await process.waitForOutput(containing: "Stop it:")
        let output = process.output
        ports = (
            String(try #require(output.firstMatch(of: #/production +https:\/\/(\S+)/#)).1),
            String(try #require(output.firstMatch(of: #/sandbox +https:\/\/(\S+)/#)).1)
        )
        authorities = String(try #require(output.firstMatch(of: #/trust +(\S+)/#)).1)
        let signing = try #require(output.firstMatch(of: #/sign with +(\S+) +key id (\S+),/#))
        (keyFile, keyID) = (String(signing.1), String(signing.2))
        control = String(try #require(output.firstMatch(of: #/control +(\S+)/#)).1)
    }

    /// The settings that point a process at this APNs.
    var variables: [String: String] {
        [
            "FLOTILLA_SENDER_APNS_PRODUCTION": ports.production,
            "FLOTILLA_SENDER_APNS_SANDBOX": ports.sandbox,
            "FLOTILLA_SENDER_APNS_AUTHORITIES": authorities,
        ]
    }
}

/// The iPhone, whose reports the test posts to the gateway.
private struct ReportingPhone {
    let apns: SimulatedAPNs
    let gateway: String
    /// The API key for reports.
    let reportKey: String

    /// Posts a report of the page with the present time and the iPhone's own token.
    ///
    /// - Parameter tokenKind: `start` or `update`, or nil if the report has no token.
    func report(_ example: String, tokenKind: String?) async throws {
        let now = Int(Date().timeIntervalSince1970 * 1000)
        var report = example.replacing(#/"eventTime": [0-9]+/#, with: "\"eventTime\": \(now)")
        if let tokenKind {
            let token = try await waitForToken(ofKind: tokenKind)
            report = report.replacing(#/"token": "[0-9a-f]+"/#, with: #""token": "\#(token)""#)
        }
        let answer = try await curl(
            "http://\(gateway)/v1/reports", "-H", "Authorization: Bearer \(reportKey)", "-d", report)
        #expect(answer == #"{"accepted":1,"refused":[]}"#, "\(report)")
    }

    private func waitForToken(ofKind kind: String) async throws -> String {
        var token: String?
        try await eventually("the iPhone has a token of kind \(kind)") {
            let answer = try await curl("\(apns.control)/v1/phones/phone-0/tokens")
            let tokens = try JSONSerialization.jsonObject(with: Data(answer.utf8)) as? [String: Any]
            token = (tokens?[kind] as? [[String: Any]])?.first?["token"] as? String
            return token != nil
        }
        return try #require(token)
    }

    /// Waits until the lock screen shows this status of the order.
    func waitUntilShown(_ status: String) async throws {
        let screen = try await curl(
            "\(apns.control)/v1/wait", "-d",
            #"{"phone":"phone-0","group":"order-1001","pointer":"/status","equals":"\#(status)","milliseconds":60000}"#
        )
        // The number of phones that show it.
        #expect(screen.contains(#""showing":1"#), "\(screen)")
    }

    private func curl(_ arguments: String...) async throws -> String {
        let process = try ChildProcess("curl", arguments: ["-sS", "--fail-with-body"] + arguments)
        #expect(try await process.exitStatus() == 0, "\(process.output) \(process.errors)")
        return process.output
    }
}

/// A reader of the page who pastes its commands into a shell. The addresses and ids of the page are replaced by those of
/// the test.
private struct Reader {
    let home: String
    let apns: SimulatedAPNs
    /// The reader's installation. Nil before its start.
    var installation: Installation?

    /// Runs the commands in one shell, and checks that each prints the output that the page shows.
    ///
    /// - Parameters:
    ///   - variables: The variables of the shell at the beginning.
    ///   - names: The variables whose values are returned.
    func run(
        _ steps: [ConsoleStep], with variables: [String: String] = [:], thenPrint names: [String] = []
    ) async throws -> [String: String] {
        // A mark after each command separates the outputs. The last output has the variables.
        let mark = "---- the next command"
        let commands = steps.map { $0.command + "\necho; echo '\(mark)'\n" }.joined()
        let prints = names.map { "echo $\($0)" }.joined(separator: "\n")
        let outputs = try await shell(commands + prints, with: variables)
            .components(separatedBy: "\n\(mark)\n")
        try #require(outputs.count == steps.count + 1)
        for (step, output) in zip(steps, outputs) {
            #expect(step.shows(output), "\(step.command): \(output)")
        }
        let values = outputs[steps.count].split(separator: "\n").map(String.init)
        return Dictionary(zip(names, values)) { first, _ in first }
    }

    /// Returns whether a dry run of the page's start finds the iPhone.
    func dryRunFindsPhone(of start: [ConsoleStep], with variables: [String: String]) async throws -> Bool {
        let event = #""event": "start","#
        let command = start[0].command.replacing(event, with: event + #" "dryRun": true,"#)
        let answer = try await shell(command, with: variables)
        let id = try #require(answer.firstMatch(of: #/"sendId":"([^"]+)"/#)).1
        let gateway = try #require(installation).gateway
        let progress = "curl -s http://\(gateway)/v1/sends/\(id) -H \"Authorization: Bearer $KEY\""
        return try await shell(progress, with: variables).contains(#""targeted":1,"#)
    }

    /// Returns the output of the commands. The page does not show it completely, so it is not compared.
    func output(of steps: [ConsoleStep], with variables: [String: String]) async throws -> String {
        try await shell(steps.map(\.command).joined(separator: "\n"), with: variables)
    }

    private func shell(_ script: String, with variables: [String: String]) async throws -> String {
        let path = builtProductsDirectory
        var ownScript = script.replacing("ABCDE12345", with: SimulatedAPNs.teamID)
            .replacing("KEY1234567", with: apns.keyID)
        var environment = apns.variables.merging(variables) { $1 }
        environment["HOME"] = home
        if let installation {
            ownScript = ownScript.replacing("127.0.0.1:8080", with: installation.gateway)
            environment["FLOTILLA_KAFKA_BROKERS"] = installation.broker
            // `flotilla doctor`, a command of the page, looks there for the sealing keys.
            environment["FLOTILLA_UP_DATA"] = home + "/data"
        }
        let process = try ChildProcess(
            "bash", arguments: ["-e", "-c", "PATH='\(path)':$PATH\n" + ownScript], environment: environment)
        #expect(try await process.exitStatus() == 0, "\(process.output) \(process.errors)\n\(ownScript)")
        return process.output
    }
}

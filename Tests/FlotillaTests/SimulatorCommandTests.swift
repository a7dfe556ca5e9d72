import Foundation
import ProcessTesting
import Testing

/// `flotilla apns-simulator` as a developer uses it to test a backend.
///
/// At its start the simulator prints an introduction whose lines begin with a word: `Try it:` is followed by a command
/// that sends a push, `control` by the address of the control API. The tests paste such commands into a shell. Examples
/// of the operator's book follow a comment `<!-- example NAME -->`.
struct SimulatorCommandTests {
    /// Starts a simulator on free ports, and waits until it has printed its introduction.
    private func simulator(_ data: String, _ arguments: String...) async throws -> ChildProcess {
        let process = try ChildProcess(
            builtProductPath(named: "flotilla"),
            arguments: [
                "apns-simulator", "--data", data, "--port", "0", "--sandbox-port", "0",
                "--channels-port", "0", "--sandbox-channels-port", "0", "--control-listen", "127.0.0.1:0",
                "--log-format", "text",
            ] + arguments)
        try await process.waitForOutput(containing: "Stop it:")
        return process
    }

    /// Returns the text behind a word at the start of a line of the introduction.
    private func line(_ word: String, of process: ChildProcess) throws -> String {
        let line = process.output.split(separator: "\n").first { $0.drop { $0 == " " }.hasPrefix(word) }
        let rest = try #require(line).drop { $0 == " " }.dropFirst(word.count)
        return String(rest.drop { $0 == " " })
    }

    /// Runs a command line in a shell.
    private func paste(_ line: String) async throws -> Answer {
        let shell = try ChildProcess("bash", arguments: ["-c", line])
        return Answer(status: try await shell.exitStatus(), output: shell.output, errors: shell.errors)
    }

    @Test func `every printed command can be pasted, and the push is answered with 200`() async throws {
        let directory = try TemporaryDirectory()
        let process = try await simulator(directory.filePath(named: "apns"))
        let push = try line("Try it:", of: process)
        let pushed = try await paste(push)
        #expect(pushed.output.hasPrefix("HTTP/2 200"), "\(pushed)")
        let journal = try await paste(try line("What came:", of: process))
        #expect(journal.output.contains(#""status":200"#), "\(journal)")
        let wrong = try await paste(try line("Go wrong:", of: process))
        #expect(wrong.output.contains(#""reason":"TooManyRequests""#), "\(wrong)")
        process.send(signal: SIGTERM)
        #expect(try await process.exitStatus() == 0)
        // The introduction shows the token of the example, and the log shows no token.
        #expect(!process.errors.contains(String(repeating: "c0de", count: 16)))
    }

    @Test func `its CA and its key survive a restart, and only their owner can read them`() async throws {
        let directory = try TemporaryDirectory()
        let data = directory.filePath(named: "apns")
        var trusted: [String] = []
        for _ in 1...2 {
            let process = try await simulator(data)
            trusted.append(try String(contentsOfFile: try line("trust", of: process), encoding: .utf8))
            #expect(try await paste(try line("Try it:", of: process)).output.hasPrefix("HTTP/2 200"))
            process.send(signal: SIGTERM)
            #expect(try await process.exitStatus() == 0)
        }
        #expect(trusted[0] == trusted[1])
        for file in try FileManager.default.contentsOfDirectory(atPath: data) where file != "ca.pem" {
            let attributes = try FileManager.default.attributesOfItem(atPath: data + "/" + file)
            #expect(attributes[.posixPermissions] as? Int == 0o600, "\(file)")
        }
    }

    @Test func `the journal's file has every request after a stop`() async throws {
        let directory = try TemporaryDirectory()
        let journal = directory.filePath(named: "journal.jsonl")
        let process = try await simulator(
            directory.filePath(named: "apns"), "--journal", journal, "--journal-sync")
        let push = try line("Try it:", of: process)
        for _ in 1...3 { #expect(try await paste(push).output.hasPrefix("HTTP/2 200")) }
        process.send(signal: SIGTERM)
        #expect(try await process.exitStatus() == 0)
        let lines = try String(contentsOfFile: journal, encoding: .utf8).split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines.allSatisfy { $0.contains("tok:") && !$0.contains("c0dec0dec0de") })
    }

    @Test func `a wrong script stops the start, and all its faults are reported`() async throws {
        let directory = try TemporaryDirectory()
        let script = try directory.writeFile(
            named: "script.json", content: #"{"rules":[{"clse":true},{"match":{"share":2},"close":true}]}"#)
        let answer = try await flotilla(
            "apns-simulator", "--data", directory.filePath(named: "apns"), "--script", script, "--port", "0",
            "--log-level", "error")
        #expect(answer.status == ExitCode.dataError, "\(answer)")
        #expect(answer.errors.contains("rules[0].clse is not a known field"), "\(answer)")
        #expect(answer.errors.contains("rules[1].match.share must be from 0 to 1"))
        let missing = try await flotilla(
            "apns-simulator", "--data", directory.filePath(named: "apns"), "--script",
            directory.filePath(named: "none"), "--port", "0")
        #expect(
            missing.status == ExitCode.cannotCreate && missing.errors.contains("cannot read the script"),
            "\(missing)")
    }

    @Test func `a correct client refuses a port with a fault in its TLS`() async throws {
        let directory = try TemporaryDirectory()
        let faults = ["expired", "wrong-host", "unknown-authority", "no-h2", "tls-1.1"]
        let process = try await simulator(
            directory.filePath(named: "apns"), "--tls-fault", faults.map { "\($0)@0" }.joined(separator: ","))
        let trust = try line("trust", of: process)
        let ports = process.output.split(separator: "\n").filter { $0.contains("TLS fault") }
        #expect(ports.count == faults.count)
        for (fault, line) in zip(faults, ports) {
            let url = try #require(line.split(separator: " ").first { $0.hasPrefix("https://") })
            let curl = try ChildProcess(
                "curl",
                arguments: ["-sS", "--http2", "--tlsv1.2", "--cacert", trust, String(url) + "/3/device/00"])
            let status = try await curl.exitStatus()
            #expect(status != 0 && curl.output.isEmpty, "\(fault): \(status) \(curl.errors)")
            let words =
                switch fault {
                case "expired": "certificate has expired"
                case "wrong-host": "no alternative certificate subject name matches"
                case "unknown-authority": "self-signed certificate in certificate chain"
                case "tls-1.1": "unsupported protocol"
                default: "Empty reply from server"
                }
            #expect(curl.errors.contains(words), "\(fault): \(curl.errors)")
        }
    }

    @Test func `the printed command starts an activity on the first phone if there are phones`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let process = try await simulator(directory.filePath(named: "apns"), "--phones", "10")
        let pushed = try await paste(try line("Try it:", of: process))
        #expect(pushed.output.hasPrefix("HTTP/2 200"), "\(pushed)")
        let phone = try await paste(try line("Look at it:", of: process)).output
        #expect(phone.contains(#""contentState":{"home":1,"away":0}"#), "\(phone)")
        #expect(phone.contains(#""group":"match-42""#) && phone.contains(#""effect":"started""#), "\(phone)")
        let control = try line("control", of: process)
        let group = try await paste("curl -s \(control)/v1/groups/match-42").output
        #expect(group.contains(#""activities":1"#), "\(group)")
        try await eventually("an update token") {
            try await paste("curl -s \(control)/v1/phones/phone-0/tokens").output.contains(#""activity":"#)
        }
        _ = try await paste(#"curl -s \#(control)/v1/phones/phone-0 -d '{"does":"uninstall"}'"#)
        #expect(try await paste(try line("Try it:", of: process)).output.contains("Unregistered"))
        #expect(try await paste("curl -s \(control)/v1/phones/phone-10").output.contains("no_phone"))
    }

    @Test func `the operator's example of a day on a phone works`() async throws {
        let directory = try TemporaryDirectory()
        let process = try await simulator(directory.filePath(named: "apns"), "--phones", "2")
        let control = try line("control", of: process)
        #expect(try await paste(try line("Try it:", of: process)).output.hasPrefix("HTTP/2 200"))
        var answers: [String] = []
        for line in try example("clock").components(separatedBy: "\n") {
            answers.append(try await paste(line.replacing(Self.bookControl, with: control)).output)
        }
        // After eight hours the system has ended the activity. After four more hours it is gone from the screen.
        #expect(answers.count == 4 && answers[0].contains(#""aheadSeconds":28800"#), "\(answers)")
        #expect(answers[1].contains(#""state":"ended""#), "\(answers)")
        #expect(answers[2].contains(#""aheadSeconds":43200"#), "\(answers)")
        #expect(answers[3].contains(#""activities":[]"#), "\(answers)")
    }

    /// The page of the operator's book whose examples people copy.
    private var page: String {
        get throws { try Repository.text(of: "deploy/book/simulator.md") }
    }

    /// The address of the control API in the operator's book.
    private static let bookControl = "http://127.0.0.1:2199"

    /// Returns the code of an example in the operator's book.
    private func example(_ name: String, _ language: String = "") throws -> String {
        let parts = try page.components(separatedBy: "<!-- example \(name) -->\n```\(language)\n")
        return try #require(parts.dropFirst().first).components(separatedBy: "\n```")[0]
    }

    @Test func `the operator's examples that wait and check work`() async throws {
        let directory = try TemporaryDirectory()
        let records = directory.filePath(named: "records")
        let process = try await simulator(
            directory.filePath(named: "apns"), "--phones", "2", "--records", records)
        let control = try line("control", of: process)
        #expect(try await paste(try line("Try it:", of: process)).output.hasPrefix("HTTP/2 200"))
        for line in try example("wait").components(separatedBy: "\n") {
            let answer = try await paste(line.replacing(Self.bookControl, with: control))
            #expect(answer.status == 0 && answer.output.hasPrefix(#"{"showing":1,"of":1,"#), "\(answer)")
        }
        let reader = try ChildProcess(
            "python3", arguments: ["-c", try example("records", "python"), records])
        #expect(try await reader.exitStatus() == 0, "\(reader.errors)")
        // A head, and a line for the push. Its third column is the token, the next ones are the status and the count.
        let rows = reader.output.split(separator: "\n").map { $0.split(separator: " ") }
        #expect(rows.count == 2 && rows[1][3...4] == ["200", "1"], "\(reader.output)")
        let journal = try await paste("curl -s \(control)/v1/journal").output
        #expect(journal.contains(#""token":"\#(rows[1][2])""#), "\(journal)")
    }

    @Test func `the simulator accepts the portal file of the operator's book`() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.writeFile(named: "portal.json", content: try example("portal", "json"))
        let process = try await simulator(directory.filePath(named: "apns"), "--portal", file)
        let control = try line("control", of: process)
        #expect(try await paste(try line("Try it:", of: process)).output.hasPrefix("HTTP/2 200"))
        let phones = try await paste("curl -s '\(control)/v1/phones?from=9'").output
        #expect(phones.contains(#""environment":"sandbox","system":"17.1""#), "\(phones)")
        #expect(phones.contains(#""bundleId":"com.example.news""#) && phones.contains(#""count":11"#))
        let key = directory.filePath(named: "apns/TEAM000001/AuthKey_SANDBOX001.p8")
        #expect(FileManager.default.fileExists(atPath: key))
    }

    private static let canMakeNetworkNamespace =
        (try? Process.run(
            URL(fileURLWithPath: "/bin/sh"), arguments: ["-c", "unshare -rnm true 2>/dev/null"]
        )
        .finished) == 0

    /// Skipped on systems that do not let a user make a network namespace.
    @Test(.enabled(if: canMakeNetworkNamespace))
    func `a program with Apple's host names reaches the simulator, and its exit status is kept`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let program = """
            curl -s -w '%{http_code} %{http_version} ' https://api.push.apple.com/3/device/c0de -d '{}'
            curl -s -w '%{http_code}' https://api.sandbox.push.apple.com/3/device/c0de; exit 7
            """
        let process = try ChildProcess(
            "env",
            arguments: [
                "FLOTILLA=" + builtProductPath(named: "flotilla"),
                "APNS_DATA=" + directory.filePath(named: "apns"),
                Repository.path(of: "deploy/instead-of-apns"), "bash", "-c", program,
            ])
        #expect(try await process.exitStatus() == 7, "\(process.errors)")
        #expect(
            process.output.contains(#"{"reason":"InvalidPushType"}400 2 "#)
                && process.output.hasSuffix("405"), "\(process.output)")
    }

    @Test func `the phones decode with the types of the operator's book`() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.writeFile(named: "types.json", content: try example("types", "json"))
        let process = try await simulator(
            directory.filePath(named: "apns"), "--phones", "1", "--phone-types-file", file,
            "--update-token-percent", "0"
        )
        let control = try line("control", of: process)
        let push = try line("Try it:", of: process)
        #expect(push.contains(#""attributes":{"matchId":"match-42"}"#), "\(push)")
        #expect(
            try await paste(push.replacing(#""home":1"#, with: #""home":"one""#)).output.hasPrefix(
                "HTTP/2 200"))
        var phone = try await paste("curl -s \(control)/v1/phones/phone-0").output
        #expect(
            phone.contains(#""effect":"contentStateNotDecoded""#) && phone.contains(#""activities":[]"#),
            "\(phone)")
        #expect(try await paste(push).output.hasPrefix("HTTP/2 200"))
        phone = try await paste("curl -s \(control)/v1/phones/phone-0").output
        #expect(
            phone.contains(#""group":"match-42""#) && phone.contains(#""isTokenReported":false"#), "\(phone)")
        _ = try await paste("curl -s \(control)/v1/clock -d '{\"advanceSeconds\":60}'")
        let tokens = "curl -s \(control)/v1/phones/phone-0/tokens"
        #expect(try await paste(tokens).output.contains(#""update":[]"#))
        _ = try await paste(#"curl -s \#(control)/v1/phones/phone-0 -d '{"does":"open"}'"#)
        #expect(try await paste(tokens).output.contains(#""update":[{"activity""#))

        let wrong = try directory.writeFile(
            named: "wrong.json", content: #"[{"name":"A","contentStateSchema":{"a":"number"}},{"name":"A"}]"#)
        let refused = try await flotilla(
            "apns-simulator", "--phones", "1", "--phone-types-file", wrong, "--port", "0", "--data",
            directory.filePath(named: "apns"), "--log-level", "error")
        #expect(refused.status == ExitCode.dataError, "\(refused)")
        #expect(
            refused.errors.contains("no repeated name") && refused.errors.contains("[0].contentStateSchema"))
    }

    @Test func `phones report to Flotilla through its gateway and directly to the topic`() async throws {
        let directory = try TemporaryDirectory()
        let installation = try await Installation(directory.filePath(named: "up"))
        let created = try await installation.flotilla(
            "apps", "create", "shop", "--bundle-id", "com.example.app", "--team-id", "ABCDE12345", "--key-id",
            "KEY1234567")
        #expect(created.status == 0, "\(created)")
        let key = try await installation.flotilla("keys", "create", "shop", "--role", "report").output
        let file = try directory.writeFile(
            named: "flotilla.json5",
            content: #"{"apns-simulator": {"report-key": "\#(key.trimmingCharacters(in: .newlines))"}}"#)
        func hasReportedToken(phone: Int) async throws -> Bool {
            try await installation.flotilla("installation", "phone-\(phone)", "--app", "shop").output
                .contains("start:MatchAttributes")
        }
        let posting = try await simulator(
            directory.filePath(named: "apns"), "--phones", "1", "--config", file, "--report-to",
            installation.gateway)
        try await eventually("the phone's token by the gateway") { try await hasReportedToken(phone: 0) }
        posting.send(signal: SIGTERM)
        #expect(try await posting.exitStatus() == 0)
        let writing = try await simulator(
            directory.filePath(named: "apns"), "--phones", "20", "--report-to", "topic:flotilla.reports",
            "--report-app", "shop", "--kafka-brokers", installation.broker)
        try await eventually("the phones' tokens by the topic") { try await hasReportedToken(phone: 19) }
        let control = try line("control", of: writing)
        #expect(try await paste("curl -s \(control)/v1/summary").output.contains(#""refused":0"#))
        writing.send(signal: SIGTERM)
        #expect(try await writing.exitStatus() == 0)
    }

    @Test func `phones repeat a report to any configured URL until it is accepted`() async throws {
        let directory = try TemporaryDirectory()
        let endpoint = try ChildProcess("python3", arguments: ["-u", "-c", Self.endpoint])
        try await endpoint.waitForOutput(containing: "port ")
        let port = try line("port", of: endpoint)
        let settings = try directory.writeFile(
            named: "settings.json5", content: #"{"apns-simulator": {"report-key": "secret"}}"#)
        let process = try await simulator(
            directory.filePath(named: "apns"), "--phones", "2", "--report-to",
            "http://127.0.0.1:\(port)/hooks/tokens", "--config", settings)
        let control = try line("control", of: process)
        let tokens = try await paste("curl -s \(control)/v1/phones/phone-1/tokens").output
        let token = try #require(tokens.firstMatch(of: /"token":"([0-9a-f]+)"/)).output.1
        try await endpoint.waitForOutput(containing: "202 /hooks/tokens Bearer secret")
        #expect(endpoint.output.contains("500 /hooks/tokens"), "the first answer was an error")
        try await endpoint.waitForOutput(containing: String(token))
        let wrong = try await flotilla(
            "apns-simulator", "--report-to", "https://example.com:1/x", "--port", "0")
        #expect(
            wrong.status == ExitCode.configuration && wrong.errors.contains("http://HOST:PORT/PATH"),
            "\(wrong)")
    }

    /// A server that refuses the first request, then accepts all and prints them.
    private static let endpoint = """
        import http.server
        class Endpoint(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            answers = [500]
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                status = self.answers.pop() if self.answers else 202
                print(status, self.path, self.headers["Authorization"], body)
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()
            def log_message(self, *words): pass
        server = http.server.HTTPServer(("127.0.0.1", 0), Endpoint)
        print("port", server.server_address[1])
        server.serve_forever()
        """

    @Test func `the simulator accepts the script and the faults of the operator's book`() async throws {
        let directory = try TemporaryDirectory()
        let page = try page
        let file = try directory.writeFile(named: "script.json", content: try example("script", "json"))
        let word = try #require(page.firstMatch(of: /--tls-fault ([a-z0-9@,.-]+)/)).output.1
        let faults = String(word.replacing(/@[0-9]+/, with: "@0"))
        let process = try await simulator(
            directory.filePath(named: "apns"), "--script", file, "--tls-fault", faults)
        let control = try line("control", of: process)
        let shownScript = try await paste("curl -s \(control)/v1/script").output
        let ruleCount = shownScript.components(separatedBy: #""hits""#).count - 1
        #expect(ruleCount == 7, "\(shownScript)")
        #expect(shownScript.contains(#""timetable":{"everyMilliseconds":4000"#))
        #expect(try line("sign with", of: process).contains("team id FLOTILLA01"))
        #expect(page.contains("team id `FLOTILLA01`"))
        #expect(process.output.components(separatedBy: "TLS fault").count - 1 == 5)
    }

    @Test func `every path in the operator's book exists in the control API`() async throws {
        let directory = try TemporaryDirectory()
        let process = try await simulator(directory.filePath(named: "apns"))
        let control = try line("control", of: process)
        let paths = Set(
            try page.replacing("/phone-0", with: "/{installation}")
                .matches(of: /\/(v1\/[a-z-]+(?:\/{[a-z]+})?|metrics|livez)/).map { String($0.output.0) })
        #expect(paths.count >= 9, "\(paths)")
        // A path that exists refuses the method OPTIONS. Another path would not be found.
        for path in paths {
            let pathWithID = path.replacing(/{[a-z]+}/, with: "c0de")
            let answer = try await paste(
                "curl -s -o /dev/null -w '%{http_code}' -X OPTIONS \(control)\(pathWithID)")
            #expect(answer.output == "405", "\(path) answers \(answer.output)")
        }
    }
}

extension Process {
    /// Waits for the end of the process and returns its status.
    fileprivate var finished: Int32 {
        waitUntilExit()
        return terminationStatus
    }
}

import Foundation
import ProcessTesting
import Testing

/// `flotilla types`, `segments`, `send`, `cancel` and `keys rotate` on a new installation.
struct SendCommandTests {
    private let directory: TemporaryDirectory
    private let installation: Installation

    init() async throws {
        directory = try TemporaryDirectory()
        installation = try await Installation(directory.path)
        try await installation.createShop()
    }

    /// Returns the records of a topic, each as `KEY VALUE`.
    private func kcat(_ topic: String) async throws -> [Substring] {
        let process = try ChildProcess(
            "kcat",
            arguments: [
                "-b", installation.broker, "-t", "flotilla.\(topic)", "-C", "-e", "-q", "-f", "%k %s\n",
            ])
        #expect(try await process.exitStatus() == 0)
        return process.output.split(separator: "\n")
    }

    @Test func `types and segments are put, shown and deleted by hand`() async throws {
        let put = try await installation.flotilla(
            "types", "put", "shop", "Order", #"{"private":true,"groupAttribute":"orderId"}"#)
        #expect(put.status == 0 && put.output.contains("private"), "\(put)")
        let wrong = try await installation.flotilla("types", "put", "shop", "Order", #"{"privat":true}"#)
        #expect(
            wrong.status == ExitCode.dataError && wrong.errors.contains("privat is not a known field"),
            "\(wrong)")
        #expect(try await installation.flotilla("types", "list", "shop").output.contains("orderId"))
        #expect(
            try await installation.flotilla("types", "show", "shop", "Order", "--json").output.contains(
                #""private":true"#))
        // A type with a separate record is not copied into the app's document.
        let updated = try await installation.flotilla("apps", "update", "shop", "--environments", "sandbox")
        #expect(updated.status == 0)
        #expect(try await installation.flotilla("types", "delete", "shop", "Order").status == 0)
        #expect(try await installation.flotilla("types", "delete", "shop", "Order").status == ExitCode.usage)
        #expect(
            try await installation.flotilla("types", "list", "shop").output.contains("no such activity type"))

        let rule = #"{"attribute":"age","atLeast":18}"#
        let file = try directory.writeFile(named: "rule.json", content: rule)
        #expect(
            try await installation.flotilla("segments", "put", "shop", "adults", "--file", file).status == 0)
        let shown = try await installation.flotilla("segments", "show", "shop", "adults")
        #expect(shown.output.contains(rule), "\(shown)")
        #expect(try await installation.flotilla("segments", "delete", "shop", "adults").status == 0)
        for words in [["types"], ["types", "put", "shop"], ["segments", "show", "shop"]] {
            #expect(try await installation.flotilla(words).status == ExitCode.usage, "\(words)")
        }
    }

    @Test func `a send by hand follows the gateway's rules and can be cancelled`() async throws {
        #expect(try await installation.flotilla("types", "put", "shop", "Match", "{}").status == 0)
        let body = #"{"event":"update","groupId":"m1","contentState":{"score":1}}"#
        let sent = try await installation.flotilla("send", body, "--app", "shop", "--idempotency-key", "k")
        #expect(sent.status == 0 && sent.output.hasPrefix("accepted as k-"), "\(sent)")
        let again = try await installation.flotilla("send", body, "--app", "shop", "--idempotency-key", "k")
        #expect(again.output == sent.output)
        let refused = try await installation.flotilla(
            "send", #"{"event":"update","groupId":"m1"}"#, "--app", "shop")
        #expect(
            refused.status == ExitCode.dataError && refused.errors.contains("contentState is required"),
            "\(refused)")
        let id = sent.output.dropFirst("accepted as ".count).trimmingCharacters(in: .whitespacesAndNewlines)
        let cancelled = try await installation.flotilla("cancel", id, "--app", "shop", "--json")
        #expect(cancelled.status == 0 && cancelled.output == "{\"sendId\":\"\(id)\"}\n", "\(cancelled)")
        #expect(try await installation.flotilla("cancel", id, "--app", "bank").status == ExitCode.noInput)
        // The send, its repetition, and the cancel.
        let records = try await kcat("sends")
        #expect(records.count == 3 && records.allSatisfy { $0.hasPrefix("shop/m1 ") })
        func actions(in topic: String) async throws -> [String] {
            try await kcat(topic).map { line in
                String(line.components(separatedBy: #""action":""#).last?.prefix { $0 != "\"" } ?? "")
            }
        }
        let changes = try await actions(in: "audit")
        #expect(
            changes.filter { $0 != "sealing-keys.use" && $0 != "gateway.start" } == [
                "app.create", "type.put",
            ])
        #expect(
            try await actions(in: "audit.sends").sorted() == ["send.cancel", "send.update", "send.update"])
    }

    @Test func `a send for later by hand becomes a schedule, and a wrong call is refused`() async throws {
        #expect(try await installation.flotilla("types", "put", "shop", "Match", "{}").status == 0)
        let body = #"{"event":"update","groupId":"m1","contentState":{"score":1}}"#
        for when in [["--in", "600"], ["--in", "0.5"], ["--at", "2027-01-01T00:00:00Z"]] {
            let sent = try await installation.flotilla(["send", body, "--app", "shop"] + when)
            #expect(sent.status == 0 && sent.output.hasPrefix("accepted as t-"), "\(sent)")
        }
        #expect(try await kcat("schedules").filter { $0.hasPrefix("shop/g:m1 ") }.count == 3)
        #expect(try await kcat("sends").isEmpty)
        for (words, status) in [
            (["send", body, "--app", "shop", "--in", "soon"], ExitCode.usage),
            (["send", body, "--app", "shop", "--in", "6", "--at", "2027-01-01T00:00:00Z"], ExitCode.usage),
            (["send", body, "--app", "shop", "--at", "tomorrow"], ExitCode.dataError),
            (["send", "{}", "--app", "shop", "--in", "1"], ExitCode.dataError),
            (["schedules", "drop", "--app", "shop"], ExitCode.usage),
            (["schedules", "--app", "shop"], ExitCode.dataError),
            (["schedules", "cancel", "--app", "shop", "--user", "jane"], ExitCode.dataError),
        ] {
            let answer = try await installation.flotilla(words)
            #expect(answer.status == status, "\(words) \(answer)")
        }
    }

    @Test func `a rotated key is replaced by one with the same role, and then expires`() async throws {
        let created = try await installation.flotilla(
            "keys", "create", "shop", "--role", "send", "--name", "api")
        let text = created.output.trimmingCharacters(in: .whitespacesAndNewlines)
        let rotated = try await installation.flotilla("keys", "rotate", text, "--overlap", "2h")
        #expect(
            rotated.status == 0 && rotated.output.hasPrefix("flotilla_send_")
                && rotated.output != created.output)
        let listed = try await installation.flotilla("keys", "list", "shop", "--json").output
        let lines = listed.split(separator: "\n")
        #expect(lines.count == 2 && lines.allSatisfy { $0.contains(#""name":"api""#) })
        #expect(lines[0].contains("expiresAt") && !lines[1].contains("expiresAt"))
        // A key is flotilla_ROLE_ID_SECRET.
        let id = text.split(separator: "_")[2]
        #expect(try await installation.flotilla("keys", "revoke", String(id)).status == 0)
        #expect(try await installation.flotilla("keys", "rotate", String(id)).status == ExitCode.usage)
    }
}

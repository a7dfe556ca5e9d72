import Foundation
import ProcessTesting
import Testing

/// `flotilla dead-letters` and `flotilla replay resend` on a new installation.
struct DeadLettersCommandTests {
    /// A token in the record, which no output may show.
    private static let token = "c0ffee"

    /// Writes a record to `reports`.
    private func produce(_ value: String, _ installation: Installation, _ directory: TemporaryDirectory)
        async throws
    {
        let file = try directory.writeFile(named: "record", content: "shop/i:phone-1|" + value)
        let process = try ChildProcess(
            "kcat",
            arguments: ["-b", installation.broker, "-t", "flotilla.reports", "-P", "-K", "|", "-l", file])
        #expect(try await process.exitStatus() == 0, "\(process.errors)")
    }

    @Test func `dead letters are listed, shown without tokens, redriven and discarded`() async throws {
        let directory = try TemporaryDirectory()
        let installation = try await Installation(directory.path)
        let none = try await installation.flotilla("dead-letters")
        #expect(none.status == 0 && none.output == "there are no such dead letters\n", "\(none)")
        try await produce(#"{"v":1,"token":"\#(Self.token)"}"#, installation, directory)
        try await eventually("a dead letter") {
            try await installation.flotilla("dead-letters", "list").output.contains("ingest  shop")
        }
        let each = try await installation.flotilla("dead-letters", "list", "--each", "--json")
        let id = each.output.split(separator: #""letter":""#).last?.prefix { $0 != "\"" } ?? ""
        #expect(id.contains("/") && each.output.contains(#""state":"open""#), "\(each)")
        let shown = try await installation.flotilla("dead-letters", "show", String(id))
        #expect(shown.status == 0 && shown.output.contains("flotilla.reports"), "\(shown)")
        #expect(!(shown.output + each.output).contains(Self.token))

        let planned = try await installation.flotilla("dead-letters", "redrive", "--app", "shop", "--dry-run")
        #expect(
            planned.status == 0 && planned.output.contains("1 letters with 1 jobs will be sent again"),
            "\(planned)")
        let withoutConfirmation = try await installation.flotilla("dead-letters", "redrive", "--app", "shop")
        #expect(
            withoutConfirmation.status == ExitCode.usage
                && withoutConfirmation.errors.contains("nothing was sent again"), "\(withoutConfirmation)")
        #expect(
            withoutConfirmation.errors.contains("Continue?")
                && !withoutConfirmation.output.contains("Continue?"), "a program reads standard output")
        let other = try await installation.flotilla("dead-letters", "redrive", "--app", "bank", "--yes")
        #expect(other.output.contains("sent 0 letters"), "\(other)")
        let done = try await installation.flotilla("dead-letters", "redrive", "--app", "shop", "--yes")
        #expect(done.status == 0 && done.output.contains("sent 1 letters with 1 jobs again"), "\(done)")
        // The record is still wrong. Its new dead letter names the earlier one.
        try await eventually("the record is a dead letter again") {
            try await installation.flotilla("dead-letters", "list", "--each", "--json").output.contains(
                #""sentAgainFrom":["\#(id)"]"#)
        }
        let settled = try await installation.flotilla(
            "dead-letters", "list", "--each", "--settled", "--since", "1h")
        #expect(settled.output.contains("redriven") && settled.output.contains("open"), "\(settled)")
        let discarded = try await installation.flotilla(
            "dead-letters", "discard", "--every", "--json", "--yes")
        #expect(discarded.output.contains(#""discarded":1"#), "\(discarded)")
        #expect(try await installation.flotilla("dead-letters").output == "there are no such dead letters\n")
    }

    @Test(arguments: [
        (["dead-letters", "redrive", "--yes"], ExitCode.usage, "select dead letters"),
        (["dead-letters", "discard", "--yes"], ExitCode.usage, "select dead letters"),
        (["dead-letters", "show"], ExitCode.usage, "use list, show"),
        (["dead-letters", "show", "3-4"], ExitCode.usage, "is not the name of a dead letter"),
        (["dead-letters", "list", "--since", "yesterday"], ExitCode.usage, "--since must be"),
        (["dead-letters", "list", "--each", "--limit", "0"], ExitCode.usage, "--limit must be"),
        (["dead-letters", "redrive", "--app", "no app"], ExitCode.usage, "--app must be 1 to 64"),
        (["dead-letters", "burn"], ExitCode.usage, "use list, show"),
        (["replay", "resend", "s1"], ExitCode.usage, "--app"),
        (["replay", "resend", "--app", "shop"], ExitCode.usage, "name one send"),
    ])
    func `a wrong call is refused with a hint`(words: [String], status: Int32, text: String) async throws {
        let process = try ChildProcess(
            builtProductPath(named: "flotilla"), arguments: words + ["--kafka-brokers", "127.0.0.1:1"])
        #expect(try await process.exitStatus() == status)
        #expect(process.errors.contains(text), "\(process.errors)")
    }

    @Test func `an unknown send is not sent again`() async throws {
        let directory = try TemporaryDirectory()
        let installation = try await Installation(directory.path)
        let answer = try await installation.flotilla("replay", "resend", "r-1", "--app", "shop", "--yes")
        #expect(
            answer.status == ExitCode.noInput && answer.errors.contains("no such send of shop"), "\(answer)")
    }
}

import ProcessTesting
import Testing

/// The commands that list what insight knows, on the installation of a demonstration.
struct InsightCommandTests {
    @Test func `groups, sends, events and the audit are listed, and a missing object is a failure`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let installation = try await DemonstratedInstallation(in: directory)
        func ask(_ arguments: String...) async throws -> Answer {
            try await flotilla(arguments + ["--app", "demo", "--kafka-brokers", installation.broker])
        }
        try await eventually("insight has read the demonstration") {
            let groups = try await ask("groups", "--json", "--limit", "1")
            return groups.status == 0 && groups.output.contains(#""groupId":""#)
        }
        let groups = try await ask("groups", "list", "--state", "all")
        #expect(groups.status == 0 && groups.output.hasPrefix("group "), "\(groups)")
        let sends = try await ask("sends", "--json", "--limit", "1")
        let id = try #require(sends.output.firstMatch(of: #/"sendId":"([^"]+)"/#)?.1)
        #expect(sends.output.contains(#"{"next":""#), "a further page: \(sends)")
        let report = try await ask("sends", "show", String(id))
        #expect(report.status == 0 && report.output.contains(#""accepted":"#), "\(report)")
        #expect(try await ask("events", "--code", "n:lst").output.hasPrefix("at "))
        let audit = try await ask("audit", "--of", "sends")
        #expect(audit.status == 0 && audit.output.contains("send.start"), "\(audit)")
        #expect(try await !ask("audit").output.contains("send.start"))

        let users = try await ask("users", "--json", "--limit", "1")
        let user = try #require(users.output.firstMatch(of: #/"userId":"([^"]+)"/#)?.1)
        #expect(users.output.contains(#"{"next":""#), "a further page: \(users)")
        #expect(try await ask("users", "show", String(user)).status == 0)
        let phones = try await ask("installations", "list", "--user", String(user))
        #expect(phones.output.hasPrefix("installation ") && phones.output.contains(user), "\(phones)")

        let unknownSend = try await ask("sends", "show", "r-1795204800000-3-0123456789abcdef01234567")
        #expect(unknownSend.status == ExitCode.noInput, "\(unknownSend)")
        #expect(try await ask("groups", "show", "nosuch").status == ExitCode.noInput)
        #expect(try await ask("user", "nosuch").status == ExitCode.noInput)
        let wrong = try await ask("events", "--code", "nosuch")
        #expect(wrong.status == ExitCode.usage && wrong.errors.contains("code must be one of"), "\(wrong)")
        #expect(try await ask("events", "show", "x").status == ExitCode.usage)

        try await eventually("an idle installation has no lag") {
            let lag = try await flotilla("lag", "--kafka-brokers", installation.broker)
            return lag.output.hasSuffix("all groups have read everything\n")
        }
    }
}

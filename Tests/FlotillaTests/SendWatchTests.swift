import Foundation
import ProcessTesting
import Testing

/// `flotilla send --watch` on a demonstration. The command ends when every phone of the match has an outcome.
struct SendWatchTests {
    @Test func `the watch counts every phone of a send until it has an outcome`() async throws {
        let directory = try TemporaryDirectory()
        let installation = try await DemonstratedInstallation(in: directory)
        let match = try #require(installation.process.output.firstMatch(of: #/activities of (match-\d+) at/#))
            .1
        let phones = try #require(installation.process.output.firstMatch(of: #/started +(\d+) activities/#)).1
        /// Sends an update and watches it. Returns the lines of the output.
        func watch(score: Int, flags: [String]) async throws -> [Substring] {
            let body =
                #"{"event":"update","groupId":"\#(match)","contentState":{"home":\#(score),"away":0}}"#
            let answer = try await flotilla(
                ["send", body, "--app", "demo", "--watch", "--kafka-brokers", installation.broker] + flags)
            #expect(answer.status == 0, "\(answer)")
            return answer.output.split(separator: "\n")
        }
        let lines = try await watch(score: 2, flags: [])
        #expect(
            lines.last == """
                [##############################] planned, targeted \(phones), pushed \(phones), \
                accepted \(phones), to go 0
                """)

        let objects = try await watch(score: 3, flags: ["--json"])
        let last = try #require(objects.last)
        #expect(last.contains(#""isComplete":true"#) && last.contains(#""toGo":0"#), "\(last)")
        #expect(last.contains(#""accepted":\#(phones)"#), "\(last)")

        let group = try await flotilla(
            "group", String(match), "--app", "demo", "--kafka-brokers", installation.broker)
        #expect(group.status == 0 && group.output.contains(#/state +runs since 20/#), "\(group)")
        #expect(group.output.contains(#/newest +update {"home":3,"away":0}/#), "\(group)")
        let stranger = try await flotilla(
            "group", String(match), "--app", "bank", "--kafka-brokers", installation.broker)
        #expect(
            stranger.status == ExitCode.noInput && stranger.errors.contains("no send to group"), "\(stranger)"
        )
    }
}

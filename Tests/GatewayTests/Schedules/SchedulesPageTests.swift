import Foundation
import ProcessTesting
import Schedules
import Testing

@testable import Gateway

/// The operator's page about schedules: a shell runs its examples unchanged with curl.
struct SchedulesPageTests {
    private let page: String

    init() throws { page = try Repository.text(of: "deploy/book/schedules.md") }

    @Test func `every example of the page is accepted`() async throws {
        let bench = try await GatewayBench.onTestCluster()
        try await bench.startAndWait()
        let scheduler = StandInScheduler(
            settings: bench.settings, layout: bench.layout, outcome: SchedulesServiceTests.acceptsEverything)
        let scripts = page.components(separatedBy: "```sh\n").dropFirst().map {
            $0.components(separatedBy: "\n```")[0]
        }
        #expect(scripts.count == 2)
        let key = try #require(bench.keys["shop/send"])
        for script in scripts {
            let head = """
                set -e
                FLOTILLA=http://127.0.0.1:\(bench.port)
                KEY=\(key)
                curl() { command curl -sS --fail-with-body "$@"; }

                """
            let process = try ChildProcess("bash", arguments: ["-c", head + script])
            #expect(try await process.exitStatus() == 0, "\(process.output) \(process.errors)\n\(script)")
        }
        // The two examples make five calls.
        #expect(scheduler.commands.count == 5)
        scheduler.stop()
        await bench.stop()
    }

    @Test func `every field of a schedule, and every limit, is on the page`() throws {
        let document = try #require(
            JSONSerialization.jsonObject(with: Data(OpenAPI.document.utf8)) as? [String: Any])
        let components = try #require(document["components"] as? [String: [String: Any]])
        let schedule = try #require(components["schemas"]?["schedule"] as? [String: Any])
        for field in try #require(schedule["properties"] as? [String: Any]).keys {
            #expect(page.contains("`\(field)`"), "\(field)")
        }
        #expect(
            GatewayLimits.schedulerReplyMilliseconds == 2000
                && page.contains("| waiting for the scheduler | 2 s |"))
        #expect(SendTime.distanceSecondsMax == 366 * 86_400 && page.contains("| how far ahead | 366 days |"))
        #expect(GatewayLimits.catalogBytesMax == 64 << 10 && ScheduleCommand.bytesMax == 900_000)
        #expect(page.contains("| 64 KiB · 900 kB |"))
        #expect(
            ScheduleCommand.listedTimersMax == 100 && page.contains("| schedules on a page of a list | 100 |")
        )
        #expect(Schedule.latenessMillisecondsDefault == 600_000 && page.contains("seconds, 600 without it"))
    }
}

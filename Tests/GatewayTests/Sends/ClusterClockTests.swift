import Foundation
import KafkaTesting
import Lifecycle
import ProcessTesting
import Sends
import StageSupport
import Telemetry
import Testing

@testable import Gateway

/// The cluster's clock at a gateway, by which dates and deadlines are checked.
struct ClusterClockTests {
    private func instant(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    @Test func `the clock follows the stamp that gives the latest time, for one to two minutes`() {
        var clock = ClusterClock(now: instant(0))
        #expect(clock.time(at: instant(5)) == nil)
        clock.observe(stamp: 10_000, at: instant(100))
        #expect(clock.time(at: instant(100))?.milliseconds == 10_000)
        clock.observe(stamp: 10_500, at: instant(5000))
        #expect(clock.time(at: instant(5000))?.milliseconds == 14_900, "an acknowledgement that came late")
        clock.observe(stamp: 15_200, at: instant(5100))
        #expect(clock.time(at: instant(5200))?.milliseconds == 15_300)
        // The broker's clock was set back by ten seconds. The clock follows it when the window is over.
        for second in 1...180 {
            clock.observe(stamp: 5100 + Int64(second) * 1000, at: instant(5100 + Int64(second) * 1000))
        }
        #expect(clock.time(at: instant(185_100))?.milliseconds == 185_100)
        clock.observe(stamp: -1, at: instant(185_100))
        clock.observe(stamp: .max, at: instant(185_100))
        #expect(clock.time(at: instant(185_100))?.milliseconds == 185_100)
    }

    @Test(arguments: [-172_800, -3600, 3600, 172_800] as [Int64])
    func `a gateway whose clock is wrong uses the cluster's clock for dates and deadlines`(seconds: Int64)
        async throws
    {
        let right = try await GatewayBench.forSends()
        let wrong = try await right.another(aheadBySeconds: seconds)
        // In seconds since 1970, as all dates of a send.
        let now = Int64(Date().timeIntervalSince1970)
        let inAnHour = now + 3600
        func update(deadline: String) -> String {
            #"""
            {"event":"update","groupId":"g","contentState":{"homeTeamScore":1,"awayTeamScore":0,"matchStatus":"x"},
            "deadline":\#(deadline),"expiration":\#(inAnHour)}
            """#
        }

        let answer = try await wrong.call("POST", "/v1/sends", body: update(deadline: #"{"offset":3600}"#))
        #expect(answer.status == 202, "\(answer.body)")
        let send = try #require(try await wrong.sends(atLeast: 1).first)
        #expect(abs(try #require(send.deadline) - inAnHour) < 60)
        #expect(abs(send.acceptedAt / 1000 - now) < 60)

        let nextHour = try await wrong.call("POST", "/v1/sends", body: update(deadline: "\(inAnHour)"))
        #expect(nextHour.status == 202)
        let past = try await wrong.call("POST", "/v1/sends", body: update(deadline: "\(now - 100)"))
        #expect(past.code == "date_passed")
        #expect(try await right.call("GET", "/v1/sends/\(answer.member("sendId"))").status == 200)
        await wrong.stop()
        await right.stop()
    }
}

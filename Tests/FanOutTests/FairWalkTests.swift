import FanOut
import Identifiers
import InstallationRecords
import Jobs
import Payloads
import Sends
import Simulation
import Testing

/// Tests of the order in which updates visit the members of a group.
struct FairWalkTests {
    private let members = 60

    /// Makes a lane with members of the group. Some have joined the group without reporting it.
    private func laneWithMembers(joinedPercent: Int, random: inout SeededGenerator) throws -> OneLane {
        let lane = try OneLane()
        for number in 0..<members { try lane.reportToken(of: "p\(number)", .start(type: "Match")) }
        try lane.expand(makeExpansion(.start, generation: 1, version: 1, send: "start"))
        for number in 0..<members {
            try lane.reportToken(of: "p\(number)", .update(activity: "a\(number)")) { row in
                if random.number(below: 100) < joinedPercent { row.group = nil }
            }
        }
        _ = lane.takeJobs()
        return lane
    }

    /// Each update comes when its predecessor has visited a few members only. In the time in which as many members are
    /// visited as the group has, each member must be visited.
    @Test(arguments: [0, 50, 100])
    func `every member is visited within one pass when updates come faster than their walks`(
        joinedPercent: Int
    ) throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)
        let lane = try laneWithMembers(joinedPercent: joinedPercent, random: &random)
        var visits: [String: Int] = [:]
        var (visitCount, longest, newestState) = (0, 0, 0)
        for version in 2..<Int64(trialCount(base: 150)) {
            let update = makeExpansion(
                .update, generation: 1, version: version, state: Int(version), send: "u\(version)")
            let rowsMax = 1 + random.number(below: 4)
            try lane.expand(update, rowsMax: rowsMax, toTheEnd: false)
            for _ in 0...random.number(below: 3) where lane.unfinishedExpansions > 0 {
                try lane.expandNextPage(rowsMax: rowsMax)
            }
            for job in lane.takeJobs() {
                visitCount += 1
                let state = Push(job.body).state.flatMap { Int($0) } ?? 0
                #expect(state >= newestState, "seed \(seed): an older state after a newer one")
                newestState = max(newestState, state)
                if visitCount > members { longest = max(longest, visitCount - (visits[job.token] ?? 0)) }
                visits[job.token] = visitCount
            }
        }
        #expect(visits.count == members, "seed \(seed)")
        // A page takes up to four reported and four joined members. Only the pages are in the order of the walk.
        #expect(longest <= members + 16, "seed \(seed): \(longest) visits between two visits of one member")
        try lane.expandRemainingPages()
        #expect(lane.unfinishedExpansions == 0)
    }

    @Test func `updates that do not supersede each other begin at different places`() throws {
        var random = SeededGenerator(seed: 3)
        let lane = try laneWithMembers(joinedPercent: 30, random: &random)
        var firsts: Set<String> = []
        for number in 0..<10 {
            var update = makeExpansion(.update, generation: 1, version: Int64(number) + 2, send: "u\(number)")
            update.precedingUpdates = number
            try lane.expand(update, rowsMax: 7)
            let jobs = lane.takeJobs()
            #expect(Set(jobs.map(\.token)).count == members && jobs.count == members)
            firsts.insert(jobs[0].token)
        }
        #expect(firsts.count >= 7)
    }
}

import Simulation
import Testing

@testable import Insight

/// The first send of a group after a time, among more sends than one list has.
@Suite struct NextSendSearchTests {
    /// Returns the newest times in a range, at most `limit`.
    private func newest(_ limit: Int, of times: [Int64], in range: Range<Int64>) -> [Int64] {
        Array(times.filter { range.contains($0) }.sorted(by: >).prefix(limit))
    }

    @Test(arguments: 0..<200)
    func `the search finds the first later send, whatever the distances between the sends`(seed: Int) async {
        var random = SeededGenerator(seed: UInt64(seed))
        let limit = Int.random(in: 1...20, using: &random)
        var times: [Int64] = []
        var time = Int64.random(in: 0...10_000, using: &random)
        for _ in 0..<Int.random(in: 2...300, using: &random) {
            times.append(time)
            let distances: [Int64] = [1, 1, 10, 1000, 60_000, 86_400_000]
            time += distances.randomElement(using: &random) ?? 1
        }
        let index = Int.random(in: 0..<times.count - 1, using: &random)
        var listCount = 0
        let known = times[Int.random(in: (index + 1)..<times.count, using: &random)]
        let found = await NextSendSearch.firstTime(after: times[index], atMost: known, limit: limit) {
            range in
            listCount += 1
            return newest(limit, of: times, in: range)
        }
        #expect(found == times[index + 1])
        #expect(listCount < 100, "\(listCount) lists")
    }

    @Test func `a busy group of a week is searched with few lists`() async {
        let start: Int64 = 1_763_600_000_000
        let week: Int64 = 7 * 86_400_000
        var listCount = 0
        let found = await NextSendSearch.firstTime(after: start, atMost: start + week, limit: 500) { range in
            listCount += 1
            // One send each second.
            let first = (range.lowerBound + 999) / 1000 * 1000
            return Array(stride(from: first, to: range.upperBound, by: 1000).reversed().prefix(500))
        }
        #expect(found == start + 1000 && listCount == 1)
    }
}

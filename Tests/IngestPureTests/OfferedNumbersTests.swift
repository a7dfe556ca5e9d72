import Kafka
import StageSupport
import Testing

/// Tests of an offer of a group, which has a partition number in all topics or in only some of them.
@Suite struct OfferedNumbersTests {
    private let topics = ["sends", "sends.timed", "subscriptions"]

    /// Returns the partitions with these numbers in some topics.
    private func partitions(_ numbers: Range<Int32>, of topics: [String]) -> [TopicPartition] {
        topics.flatMap { topic in numbers.map { TopicPartition(topic, $0) } }
    }

    @Test func `a number that is offered in all topics is served`() {
        let numbers = OfferedNumbers(partitions(0..<3, of: topics), of: topics)
        #expect(numbers.complete == [0, 1, 2] && numbers.incomplete == [])
        #expect(numbers.readinessProblem == nil)
        #expect(OfferedNumbers(of: topics).readinessProblem == nil)
    }

    @Test func `a number that lacks a topic is not served, and is named with the topic`() {
        let offered =
            partitions(0..<1, of: topics) + partitions(1..<4, of: ["sends", "sends.timed"])
            + partitions(9..<10, of: ["subscriptions"])
        let numbers = OfferedNumbers(offered, of: topics)
        #expect(numbers.complete == [0] && numbers.incomplete == [1, 2, 3, 9])
        #expect(
            numbers.readinessProblem
                == "the group offers partitions without those of sends: 9; the group offers partitions without those of sends.timed: 9; the group offers partitions without those of subscriptions: 1, 2, 3; they wait: check that the topic exists and that all processes of the stage run the same version"
        )
    }

    @Test func `a problem names at most ten numbers of a topic`() throws {
        let numbers = OfferedNumbers(partitions(0..<1000, of: ["sends"]), of: ["sends", "sends.timed"])
        let problem = try #require(numbers.readinessProblem)
        #expect(problem.contains("sends.timed: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 990 more;"))
        #expect(numbers.incomplete.count == 1000)
    }
}

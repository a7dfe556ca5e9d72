import Insight
import InstallationRecords
import Simulation
import Testing

/// The counts of events, compared with a search in the list of events.
struct EventCountsTests {
    @Test func `events of a random day are counted by hour, code, type and group`() {
        var random = SeededGenerator(seed: 3)
        var counts = EventCounts()
        var events: [Event] = []
        for _ in 0..<2000 {
            let event = Event(
                Event.Code.allCases[random.number(below: Event.Code.allCases.count)],
                app: random.number(below: 2) == 0 ? "flash" : "other", installation: "phone",
                attributesType: random.number(below: 3) == 0 ? nil : "Match",
                group: random.number(below: 2) == 0 ? nil : "match-\(random.number(below: 3))",
                eventTime: Int64(random.number(below: 86_400_000)), receivedAt: 86_400_000)
            events.append(event)
            counts.add(event)
        }
        #expect(counts.counts.values.reduce(0, +) == events.count)
        for (key, count) in counts.counts {
            let expected = events.filter { event in
                event.app == key.app && event.code == key.code && event.group == key.group
                    && event.attributesType == key.attributesType
                    && (key.hour * 3_600_000..<(key.hour + 1) * 3_600_000).contains(event.eventTime)
            }
            #expect(count == expected.count)
        }
    }
}

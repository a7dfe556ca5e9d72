import CatalogRecords
import Telemetry
import Testing

@testable import Catalog

/// A test of the time that the refusal of an API key takes. It must not reveal to an attacker which keys exist.
struct AccessTimeTests {
    @Test func `refusing an unknown key takes as long as refusing a wrong secret`() throws {
        var catalog = CatalogSnapshot()
        catalog.put(makeApp())
        // Keys that exist, with a wrong secret, and keys that do not exist.
        var forgedKeys: [String] = []
        for _ in 0..<200 {
            let (text, key) = APIKeyText.makeKey(app: "shop", role: .report, atMilliseconds: 0)
            catalog.put(
                APIKey(
                    id: key.id, app: "shop", role: .report, secretHash: key.secretHash.reversed(),
                    createdAt: 0))
            forgedKeys.append(text)
        }
        let absentKeys = (0..<200).map { _ in
            APIKeyText.makeKey(app: "shop", role: .report, atMilliseconds: 0).text
        }
        let (clock, now) = (ContinuousClock(), WallTime.now())
        var times: (forged: [Duration], absent: [Duration]) = ([], [])
        // Both are measured alternately, so that other load on the machine affects both.
        for _ in 0..<100 {
            for index in forgedKeys.indices {
                var answers: [AccessDecision] = []
                times.forged.append(
                    clock.measure {
                        answers.append(catalog.access(withText: forgedKeys[index], for: .report, now: now))
                    })
                times.absent.append(
                    clock.measure {
                        answers.append(catalog.access(withText: absentKeys[index], for: .report, now: now))
                    })
                #expect(answers == [.unknown, .unknown])
            }
        }
        let medians = [times.forged, times.absent].map { $0.sorted()[$0.count / 2] / .microseconds(1) }
        let ratio = medians[0] / medians[1]
        // A successful look-up reads one more record. Without the hash, the time would halve.
        #expect((0.8...1.25).contains(ratio), "medians of \(medians) µs")
    }
}

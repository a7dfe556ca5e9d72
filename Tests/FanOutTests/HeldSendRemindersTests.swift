import Sends
import Testing

@testable import FanOut

/// The limits of the reminders for held sends.
struct HeldSendRemindersTests {
    @Test func `scopes with long names fill the reminders by their bytes, and released ones make space`() {
        var reminders = HeldSendReminders()
        let name = String(repeating: "n", count: 400)
        var count = 0
        while !reminders.isFull {
            reminders.add(ScopeKey(app: "shop", group: "\(name)-\(count)"), in: 0, at: 1)
            count += 1
            guard count <= HeldSendReminders.countMax else { break }
        }
        #expect(count < HeldSendReminders.countMax / 4)
        #expect(reminders.keyBytes >= HeldSendReminders.keyBytesMax)
        #expect(reminders.takeDue(countMax: 10, of: [0], at: 1).count == 10)
        #expect(!reminders.isFull && reminders.count == count - 10)
        reminders.removeAll(except: [Int32]())
        #expect(reminders.count == 0 && reminders.keyBytes == 0)
    }
}

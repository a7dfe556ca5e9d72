import Identifiers
import Insight
import Jobs
import Testing

struct AddresseeTests {
    private let lines =
        "phone-1\tupdate:a\tu:ann\t18\nphone-2\tstart:Match\ti:phone-2\nphone-3\tupdate:c\tu:ünal\n"

    private func marks(app: String = "flash") -> [UInt8] {
        var marks: [UInt8] = []
        RecipientHashes.appendHashes(ofRecipientsIn: Array(lines.utf8).span, app: app, to: &marks)
        return marks
    }

    private func has(_ recipient: Recipient, of app: String = "flash", in marks: [UInt8]) -> Bool {
        RecipientHashes.contains(RecipientHashes.hash(of: recipient, app: app), in: marks.span)
    }

    @Test func `every recipient of a receipt is found`() {
        let marks = marks()
        #expect(marks.count == 3 * RecipientHashes.byteCount)
        for recipient in [Recipient.user("ann"), .user("ünal"), .installation("phone-2")] {
            let isFound = has(recipient, in: marks)
            #expect(isFound)
        }
    }

    @Test func `another person, and the same name in another app, are not found`() {
        let marks = marks(app: "other")
        for recipient in [Recipient.user("ann"), .user("phone-1"), .installation("phone-2")] {
            let isFound = has(recipient, in: marks)
            #expect(!isFound)
        }
        let isFound = has(.user("bob"), of: "other", in: marks)
        #expect(!isFound)
    }

    @Test func `each line of a receipt belongs to its addressee, in the order of lines`() throws {
        var receipt = RandomDay(seed: 1).receipt
        var rejected = LineSet()
        rejected.append(7)
        var accepted = LineSet()
        accepted.append(2)
        accepted.append(9)
        receipt.parts = [
            .init(.accepted, lines: accepted, status: 200),
            .init(.rejected, lines: rejected, status: 410, reason: "Unregistered"),
        ]
        let addressees = ReceiptLines.addressees(in: Array(lines.utf8).span)
        let all = receipt.pushes(to: addressees) { _ in true }
        #expect(all.map(\.addressee.installation) == ["phone-1", "phone-2", "phone-3"])
        #expect(all.map(\.outcome) == [.accepted, .rejected, .accepted])
        #expect(all[1].reason == "Unregistered" && all[1].status == 410)
        #expect(receipt.pushes(to: addressees) { $0.recipient == "u:ünal" }.count == 1)
        #expect(receipt.pushes(to: Array(addressees.prefix(1))) { _ in true }.count == 1)
    }
}

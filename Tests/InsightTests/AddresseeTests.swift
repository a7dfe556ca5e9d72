import Identifiers
import Insight
import Jobs
import Testing

/// The recipients of a receipt: their hashes, by which receipts are found, and their pushes.
struct AddresseeTests {
    private let lines =
        "phone-1\tupdate:a\tu:ann\t18\nphone-2\tstart:Match\ti:phone-2\nphone-3\tupdate:c\tu:ünal\n"

    private func hashes(app: String = "flash") -> [UInt8] {
        var hashes: [UInt8] = []
        RecipientHashes.appendHashes(ofRecipientsIn: Array(lines.utf8).span, app: app, to: &hashes)
        return hashes
    }

    private func contains(_ recipient: Recipient, of app: String = "flash", in hashes: [UInt8]) -> Bool {
        RecipientHashes.contains(RecipientHashes.hash(of: recipient, app: app), in: hashes.span)
    }

    @Test func `every recipient of a receipt is found`() {
        let hashes = hashes()
        #expect(hashes.count == 3 * RecipientHashes.byteCount)
        for recipient in [Recipient.user("ann"), .user("ünal"), .installation("phone-2")] {
            let isFound = contains(recipient, in: hashes)
            #expect(isFound)
        }
    }

    @Test func `another person, and the same name in another app, are not found`() {
        let hashes = hashes(app: "other")
        for recipient in [Recipient.user("ann"), .installation("phone-2")] {
            let isFound = contains(recipient, of: "flash", in: hashes)
            #expect(!isFound)
        }
        // phone-1 is an installation of the receipt, but the recipient of its line is ann.
        for recipient in [Recipient.user("bob"), .user("phone-1")] {
            let isFound = contains(recipient, of: "other", in: hashes)
            #expect(!isFound)
        }
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
        // The three addressees belong to the lines 2, 7 and 9.
        let addressees = ReceiptLines.addressees(in: Array(lines.utf8).span)
        let pushes = receipt.pushes(to: addressees) { _ in true }
        #expect(pushes.map(\.addressee.installation) == ["phone-1", "phone-2", "phone-3"])
        #expect(pushes.map(\.outcome) == [.accepted, .rejected, .accepted])
        #expect(pushes[1].reason == "Unregistered" && pushes[1].status == 410)
        #expect(receipt.pushes(to: addressees) { $0.recipient == "u:ünal" }.count == 1)
        #expect(receipt.pushes(to: Array(addressees.prefix(1))) { _ in true }.count == 1)
    }
}

import Identifiers
import JSON
import Jobs
import Payloads
import RecordFormat
import RecordTesting
import Sends
import Testing

// The record and the headers of a receipt.

func makeReceipt() -> Receipt {
    var head = SheetHead(
        topic: "com.example.shop.push-type.liveactivity", priority: .immediate, expiration: 1_763_610_000,
        app: "shop",
        environment: .production, send: "s1", group: "m1", scope: .group, generation: 5, version: 7,
        event: .update, deadline: 1_763_610_000, acceptedAt: 1_763_600_000_000)
    head.isConflatable = false
    var accepted = LineSet(all: 200)
    accepted.append(201)
    var refused = LineSet()
    refused.append(200)
    return Receipt(
        head, at: JobPosition(topic: "jobs", partition: 3, offset: 42), attempt: 1,
        writtenAt: 1_763_600_000_500,
        parts: [
            Receipt.Part(.accepted, lines: accepted),
            Receipt.Part(.rejected, lines: refused, status: 410, reason: "Unregistered"),
        ])
}

@Test func `a receipt has this format and reads back`() throws {
    let receipt = makeReceipt()
    #expect(
        String(decoding: receipt.encoded(), as: UTF8.self)
            == #"{"v":1,"topic":"jobs","partition":3,"offset":42,"attempt":1,"app":"shop","environment":"production","send":"s1","group":"m1","generation":5,"version":7,"event":"update","acceptedAt":1763600000000,"at":1763600000500,"parts":[{"outcome":"accepted","lines":"0-199,201"},{"outcome":"rejected","lines":"200","status":410,"reason":"Unregistered"}]}"#
    )
    #expect(try Receipt.decode(receipt.encoded(), with: JSONReader()) == receipt)
}

@Test func `a job that waits in a retry tier has a due time`() throws {
    var receipt = makeReceipt()
    receipt.parts = [.init(.moved, lines: LineSet(all: 1), status: 429, dueAt: 1_763_600_120_000)]
    #expect(String(decoding: receipt.encoded(), as: UTF8.self).contains(#""dueAt":1763600120000"#))
    #expect(try Receipt.decode(receipt.encoded(), with: JSONReader()) == receipt)
}

@Test func `a receipt with impossible lines is refused`() {
    let text = String(decoding: makeReceipt().encoded(), as: UTF8.self)
    for wrong in ["5-2", "-1", "0-1000", "x"] {
        #expect(throws: RecordDecodingError.self) {
            try Receipt.decode(Array(text.replacing("0-199,201", with: wrong).utf8), with: JSONReader())
        }
    }
}

@Test func `addressees of a receipt are read in order`() {
    let bytes = Array("i1\tupdate:a\tu:x\ni2\tstart:Match\ti:i2\nhalf".utf8)
    #expect(
        ReceiptLines.addressees(in: bytes.span) == [
            .init(installation: "i1", entry: "update:a", recipient: "u:x"),
            .init(installation: "i2", entry: "start:Match", recipient: "i:i2"),
        ])
}

@Test func `a damaged receipt never traps`() {
    forEachDamagedCopy(of: [makeReceipt().encoded()], seed: 4) {
        _ = try? Receipt.decode($0, with: JSONReader())
    }
}

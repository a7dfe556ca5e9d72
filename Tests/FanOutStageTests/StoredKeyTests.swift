import LiveActivity
import Stages
import Testing

@testable import FanOut

@Test func `a key that is kept takes no more room than its bytes, whatever buffer it was made in`() {
    var key: [UInt8] = []
    key.reserveCapacity(4096)
    LedgerKeyWriter(app: "shop", group: "match").start(
        of: Array("u:one".utf8).span, on: Array("phone".utf8).span, generation: Array("7".utf8), into: &key)
    let stored = StartsTable.stored(key)
    #expect(stored.bytes == key)
    #expect(stored.bytes.capacity < 128)
}

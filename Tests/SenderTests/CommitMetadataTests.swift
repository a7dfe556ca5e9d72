import Testing

@testable import Sender

/// Tests of the metadata that a sender commits beside its offsets. It tells the next owner of the lane where to read
/// `receipts`. Its text is `2 OWNER RECEIPTS_FROM WINDOW [ENDED_AT]`, where 2 is the version. Version 1 has no owner.
@Suite struct CommitMetadataTests {
    @Test(arguments: [
        CommitMetadata(receiptsFrom: 42, window: 1_000),
        CommitMetadata(receiptsFrom: 0, window: 4, endedAt: 57),
        CommitMetadata(receiptsFrom: 42, window: 1_000, owner: 0x9f3a),
        CommitMetadata(receiptsFrom: 0, window: 4, endedAt: 57, owner: .max),
    ])
    func `the text of metadata reads back`(metadata: CommitMetadata) {
        #expect(CommitMetadata(text: metadata.text) == metadata)
    }

    @Test func `the text names its version and the owner`() {
        #expect(
            CommitMetadata(receiptsFrom: 42, window: 1_000, endedAt: 57, owner: 0x9f3a).text
                == "2 9f3a 42 1000 57")
        #expect(CommitMetadata(text: "1 42 1000 57")?.owner == nil)
    }

    @Test(arguments: [
        "", "3 1 1", "2 1 1", "2 x 1 1", "2 1 1 4 5 6", "2", "1 1", "1 x 1", "1 -1 4", "1 1 9999999999",
        "1 1 4 x", "1 1 4 -1", "1 1 4 5 6",
    ])
    func `a damaged text is not read`(text: String) {
        #expect(CommitMetadata(text: text) == nil)
    }
}

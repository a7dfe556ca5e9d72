import Testing

@testable import Sender

/// Tests of the metadata that a sender commits beside its offsets. It tells the next owner of the lane where to read
/// `receipts`. Its text is `1 RECEIPTS_FROM WINDOW [ENDED_AT]`, where 1 is the version.
@Suite struct CommitMetadataTests {
    @Test(arguments: [
        CommitMetadata(receiptsFrom: 42, window: 1_000),
        CommitMetadata(receiptsFrom: 0, window: 4, endedAt: 57),
    ])
    func `the text of metadata reads back`(metadata: CommitMetadata) {
        #expect(CommitMetadata(text: metadata.text) == metadata)
    }

    @Test(arguments: [
        "", "2 1 1", "1 1", "1 x 1", "1 -1 4", "1 1 9999999999", "1 1 4 x", "1 1 4 -1", "1 1 4 5 6",
    ])
    func `a damaged text is not read`(text: String) {
        #expect(CommitMetadata(text: text) == nil)
    }
}

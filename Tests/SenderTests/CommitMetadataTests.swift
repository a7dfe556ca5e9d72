import Testing

@testable import Sender

/// The metadata beside committed offsets, which tells a successor where to read `receipts`.
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

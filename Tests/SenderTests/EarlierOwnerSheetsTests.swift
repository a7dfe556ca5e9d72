import Testing

@testable import Sender

/// Tests of the boundaries below which a partition may have unfinished sheets of earlier owners.
@Suite struct EarlierOwnerSheetsTests {
    /// The state of a tier whose sheets below offset 100 were read and finished.
    private let finished = OffsetTracker(from: 100)

    private func tier() -> EarlierOwnerSheets { EarlierOwnerSheets(below: 0, receiptsFrom: 5, isTier: true) }

    @Test func `an end is no boundary until it is confirmed`() {
        var sheets = tier()
        sheets.reachedEnd(at: 100, isConfirmed: false)
        #expect(sheets.mayBeUnfinished(finished))
        sheets.confirmEnd()
        #expect(!sheets.mayBeUnfinished(finished))
    }

    @Test func `an end that a record has followed is not confirmed`() {
        var sheets = tier()
        sheets.reachedEnd(at: 100, isConfirmed: false)
        sheets.recordArrived()
        sheets.confirmEnd()
        #expect(sheets.mayBeUnfinished(finished))
    }

    @Test func `an end that a sheet of ours may have followed is not confirmed`() {
        var sheets = tier()
        sheets.reachedEnd(at: 100, isConfirmed: false)
        sheets.addOwnSheetWithoutOffset(receiptsFrom: 3)
        sheets.confirmEnd()
        #expect(sheets.mayBeUnfinished(finished), "our sheet may lie at offset 100")
        #expect(sheets.receiptsFrom == 3)
    }

    @Test func `a sheet of ours bounds those of earlier owners unless another of ours may lie before it`() {
        var sheets = tier()
        sheets.noteOwnSheet(at: 90, sheetsWithoutOffsetWhenOrdered: 0)
        #expect(!sheets.mayBeUnfinished(finished))
        sheets.addOwnSheetWithoutOffset(receiptsFrom: 5)
        sheets.noteOwnSheet(at: 95, sheetsWithoutOffsetWhenOrdered: 0)
        #expect(sheets.mayBeUnfinished(finished))
        sheets.noteOwnSheet(at: 97, sheetsWithoutOffsetWhenOrdered: 1)
        #expect(!sheets.mayBeUnfinished(finished))
    }
}

internal import Jobs

/// The sheets in hand: those that were read and are not finished, by slot and by group. A slot is an index, by which
/// the tag of a push names its sheet (`Sheet.tag`). So a slot is reused only after its sheet is finished.
///
/// `Lane.sheetCount`, `AppQueues.sheetCount` and the memory change only here.
struct SheetsInHand {
    private var slots: [Sheet?] = []
    private var freeSlots: [Int] = []
    /// The begun sheets of each group.
    private var groups: [Fingerprint: GroupSheets] = [:]
    var memory: SheetMemory

    init(bytesMax: Int) { memory = SheetMemory(bytesMax: bytesMax) }

    var count: Int { slots.count - freeSlots.count }
    var all: [Sheet] { slots.compactMap { $0 } }
    /// Acceptance time of the oldest send, in milliseconds since 1970.
    var oldestAcceptedAt: Int64? { slots.lazy.compactMap { $0?.head.acceptedAt }.min() }

    func first(where matches: (Sheet) -> Bool) -> Sheet? {
        slots.lazy.compactMap { $0 }.first(where: matches)
    }

    /// Returns the line whose push has a tag (`Sheet.tag`); nil if the push is in another stage, or its sheet is
    /// finished.
    func pushedLine(tagged tag: UInt64, in stage: PushStage) -> (sheet: Sheet, line: Int)? {
        let (slot, line) = Sheet.slotAndLine(ofTag: tag)
        guard slot < slots.count, let sheet = slots[slot], line < sheet.lineCount,
            sheet.states[line].stage == .pushing(stage)
        else { return nil }
        return (sheet, line)
    }

    /// Returns the begun sheets of a group.
    func sheets(of group: Fingerprint) -> [Sheet] { groups[group]?.sheets ?? [] }

    /// Adds a sheet that was read.
    mutating func add(_ sheet: Sheet) {
        if let slot = freeSlots.popLast() {
            slots[slot] = sheet
            sheet.slot = slot
        } else {
            sheet.slot = slots.count
            slots.append(sheet)
        }
        memory.add(sheet.memoryByteCount, of: sheet.topic)
        sheet.lane.sheetCount += 1
        sheet.app.sheetCount += 1
    }

    /// Notes a begun sheet, which a newer version of its group can supersede.
    mutating func addBegun(_ sheet: Sheet, of group: Fingerprint) {
        let groupSheets: GroupSheets
        if let existing = groups[group] {
            groupSheets = existing
        } else {
            groupSheets = GroupSheets()
            groups[group] = groupSheets
        }
        groupSheets.add(sheet)
    }

    /// Removes a sheet whose lines are all done, unless it was removed before. Its offset is finished, unless the next
    /// owner has to read the sheet.
    mutating func remove(_ sheet: Sheet) {
        guard sheet.isInHand else { return }
        if !sheet.isLeftToNextOwner { sheet.lane[sheet.topic].finish(sheet.offset) }
        // The content counts in `memoryByteCount`, so it is freed at the end.
        memory.remove(sheet.memoryByteCount, of: sheet.topic)
        slots[sheet.slot] = nil
        freeSlots.append(sheet.slot)
        sheet.slot = -1
        sheet.lane.sheetCount -= 1
        sheet.app.sheetCount -= 1
        if sheet.app.sheetCount == 0 { sheet.app.silence.end() }
        if let group = sheet.group, let groupSheets = groups[group] {
            groupSheets.remove(sheet)
            if groupSheets.sheets.isEmpty { groups[group] = nil }
        }
        sheet.freeContent()
    }
}

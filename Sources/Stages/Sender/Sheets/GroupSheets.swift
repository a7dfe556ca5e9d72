/// The sheets in hand of one group, in no order. A group may have thousands, which come and go one by one.
final class GroupSheets {
    private(set) var sheets: [Sheet] = []

    func add(_ sheet: Sheet) {
        sheet.indexInGroup = sheets.count
        sheets.append(sheet)
    }

    /// Removes a sheet. The last one takes its index, so that no other sheet has to move.
    func remove(_ sheet: Sheet) {
        let index = sheet.indexInGroup
        guard index >= 0 else { return }
        sheet.indexInGroup = -1
        let last = sheets.removeLast()
        guard last !== sheet else { return }
        sheets[index] = last
        last.indexInGroup = index
    }
}

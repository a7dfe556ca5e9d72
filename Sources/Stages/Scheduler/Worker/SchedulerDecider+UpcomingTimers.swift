internal import StageSupport
internal import Store

// The next timers of each partition in memory, read from the view page by page.

extension SchedulerDecider {
    /// Reads pages until the next timer of each partition is known. Returns false if a view is unusable.
    func fillUpcomingTimers() throws -> Bool {
        for partition in stage.member.assignedPartitions.keys.sorted() {
            guard try fillUpcomingTimers(of: partition) else { return false }
        }
        return true
    }

    /// Reads pages until the next timer of a partition is known. Returns false if the view is unusable.
    func fillUpcomingTimers(of partition: Int32) throws -> Bool {
        while let part = stage.member.assignedPartitions[partition], part.isServing,
            part.upcomingTimers.needsPage
        {
            guard try readPage(of: partition, after: part.upcomingTimers.nextPageStart) else { return false }
        }
        return true
    }

    /// Adds the next page of the view to the upcoming timers of a partition.
    private func readPage(of partition: Int32, after lastRead: DueEntry?) throws -> Bool {
        guard let view = stage.views[partition] else { return false }
        var range = KeyRange(prefix: DueEntry.prefix)
        if let lastRead { range.advance(past: lastRead.storedKey.span) }
        var page: [DueEntry] = []
        let hasMore: Bool
        do throws(StoreError) {
            hasMore = try view.readPage(of: &range, rows: UpcomingTimers.pageRows) { key, _ in
                if let entry = DueEntry(storedKey: key) { page.append(entry) }
            }
        } catch {
            try stage.views.rebuild(partition, after: error)
            return false
        }
        stage.member.assignedPartitions[partition]?.upcomingTimers.add(page: page, isLast: !hasMore)
        let overlay = stage.views.overlays[partition]
        stage.member.assignedPartitions[partition]?.upcomingTimers.retainUnwritten { overlay?[$0] != nil }
        stage.reportStep(.timerPageRead)
        return true
    }
}

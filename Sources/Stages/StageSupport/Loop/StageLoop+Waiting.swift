internal import Glibc
internal import Kafka
internal import Lifecycle

extension StageLoop {
    /// Waits until the time of the next iteration, or until a source has records.
    func wait(for wakeup: Wakeup) {
        guard let milliseconds = milliseconds(until: wakeup.time) else { return }
        if wakeup.sources.isEmpty {
            usleep(UInt32(milliseconds) * 1000)
            return
        }
        var descriptors = wakeup.sources.contains(.records) ? [stage.consumer.descriptor] : []
        if wakeup.sources.contains(.views) { descriptors.append(stage.views.descriptor) }
        if wakeup.sources.contains(.ownClients) { descriptors += decider.ownClientDescriptors }
        let isReadable = Consumer.wait(forAnyOf: descriptors, milliseconds: milliseconds)
        guard isReadable, wakeup.gatheringMilliseconds > 0 else { return }
        // The source that woke the loop may not be the group's consumer, whose records come a little later.
        _ = Consumer.wait(
            forAnyOf: [stage.consumer.descriptor], milliseconds: Int32(wakeup.gatheringMilliseconds))
    }

    /// Returns the time until `instant`, rounded up, or nil if it has come.
    private func milliseconds(until instant: Instant) -> Int32? {
        let nanosecondsPerMillisecond: Int64 = 1_000_000
        let nanoseconds = instant.nanoseconds - stage.time.now().nanoseconds
        guard nanoseconds > 0 else { return nil }
        return Int32(clamping: (nanoseconds + nanosecondsPerMillisecond - 1) / nanosecondsPerMillisecond)
    }
}

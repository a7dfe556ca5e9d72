internal import CRdKafka
internal import Glibc
internal import Synchronization

/// The call that ends a client of the library. It runs on a separate thread, because it has no time limit.
/// This object keeps the objects alive that the library uses until the call returns.
@safe
final class ClientDestruction {
    private let pointer: OpaquePointer
    /// The library calls back into them.
    private let events: ClientEvents
    /// The library reads them without a copy.
    private let retainedValues: [SharedRecordValue]
    private let isDestroyed = Atomic<Bool>(false)

    init(pointer: OpaquePointer, events: ClientEvents, retainedValues: [SharedRecordValue]) {
        unsafe self.pointer = pointer
        self.events = events
        self.retainedValues = retainedValues
    }

    /// Returns false if the client has not ended within the limit. Its thread continues.
    func run(withinMilliseconds limit: Int) -> Bool {
        var thread = pthread_t()
        let argument = unsafe Unmanaged.passRetained(self).toOpaque()
        guard unsafe pthread_create(&thread, nil, endClient, argument) == 0 else {
            // No thread can be made, so the client ends here, without a limit.
            _ = unsafe endClient(argument)
            return true
        }
        pthread_detach(thread)
        let deadline = Deadline(milliseconds: limit)
        while !isDestroyed.load(ordering: .acquiring) {
            if deadline.millisecondsLeft == 0 { return false }
            usleep(500)
        }
        return true
    }

    fileprivate func destroy() {
        // Nothing here may wait for a broker. `Consumer.close` has left the group, within a limit.
        unsafe rd_kafka_destroy_flags(pointer, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE)
        isDestroyed.store(true, ordering: .releasing)
    }
}

private func endClient(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    unsafe Unmanaged<ClientDestruction>.fromOpaque(argument!).takeRetainedValue().destroy()
    return nil
}

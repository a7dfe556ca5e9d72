internal import CRdKafka
internal import Glibc
internal import Synchronization

/// The end of a client. It runs on a separate thread, because the library's call has no time limit. The
/// objects that the library may call back into stay alive as long as the thread runs.
@safe
final class ClientDestruction {
    private let pointer: OpaquePointer
    private let events: ClientEvents
    private let retainedBodies: [SharedRecordValue]
    private let isDestroyed = Atomic<Bool>(false)

    init(pointer: OpaquePointer, events: ClientEvents, retainedBodies: [SharedRecordValue]) {
        unsafe self.pointer = pointer
        self.events = events
        self.retainedBodies = retainedBodies
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
        // `Consumer.close` leaves groups, with a limit. Nothing here may wait for a broker.
        unsafe rd_kafka_destroy_flags(pointer, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE)
        isDestroyed.store(true, ordering: .releasing)
    }
}

private func endClient(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    unsafe Unmanaged<ClientDestruction>.fromOpaque(argument!).takeRetainedValue().destroy()
    return nil
}

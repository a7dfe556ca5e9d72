internal import Glibc

extension Consumer {
    /// Waits until one of several consumers has something to poll, for a loop with more than one consumer.
    ///
    /// - Parameter descriptors: The descriptors of the consumers.
    /// - Returns: False if the time is over.
    package static func wait(forAnyOf descriptors: [Int32], milliseconds: Int32) -> Bool {
        var entries = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        return unsafe Glibc.poll(&entries, nfds_t(entries.count), milliseconds) != 0
    }
}

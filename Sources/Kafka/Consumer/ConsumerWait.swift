internal import Glibc

extension Consumer {
    /// Waits until something is to be polled from one of several consumers, for a loop that has more than one.
    ///
    /// - Parameter descriptors: the consumers' own.
    /// - Returns: false when the time was over.
    package static func wait(forAnyOf descriptors: [Int32], milliseconds: Int32) -> Bool {
        var watched = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        return unsafe Glibc.poll(&watched, nfds_t(watched.count), milliseconds) != 0
    }
}

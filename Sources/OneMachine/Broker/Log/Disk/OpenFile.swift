internal import Glibc

/// An open file. Its descriptor is closed with the last reference. So a reader or a sync on another thread
/// keeps the file open after the log has closed or replaced it.
package final class OpenFile: Sendable {
    package let descriptor: Int32
    package let path: String

    package init(descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    deinit { close(descriptor) }
}

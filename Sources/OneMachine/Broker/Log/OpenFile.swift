internal import Glibc

/// An open file descriptor, closed with its last reference. A reader or a sync on another thread keeps
/// the file open after the log has closed or replaced it.
package final class OpenFile: Sendable {
    package let descriptor: Int32
    package let path: String

    package init(descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    deinit { close(descriptor) }
}

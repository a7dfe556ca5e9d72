internal import Glibc

/// An open file descriptor, closed when its last holder lets go: a reader or a sync under way on
/// another thread keeps the file open although the log has closed or replaced it.
package final class OpenFile: Sendable {
    package let descriptor: Int32
    package let path: String

    package init(descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    deinit { close(descriptor) }
}

